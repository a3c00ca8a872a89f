/* SPDX-License-Identifier: MIT */
/* heap_read.h - a .heap text profile, pushed through in pieces of any size, to a visitor.
 *
 * Layer pprof-compat/format; uses base. Allocates nothing but what the caller gives. Input is
 * hostile: lengths are bounded, sums are not made here, and the first error ends the reading with
 * its line number. */
#ifndef PP_FORMAT_HEAP_READ_H
#define PP_FORMAT_HEAP_READ_H

#include "format/heap_types.h"

#define PP_LINE_MAX  ((size_t)1 << 20) /* bytes of one line; longer is an error */
#define PP_DEPTH_MAX ((size_t)65536)   /* frames of one row; more is an error */

/* Each returns 0 to go on, or a negative errno that ends the reading. Any may be NULL. */
struct pp_heap_visitor {
    int (*header)(const struct pp_header *header, void *arg);
    int (*row)(const struct pp_row *row, uint64_t line, void *arg);
    /* A '#' line without the '#', one blank after it and the newline: see pp_comment_value(). */
    int (*comment)(const char *text, size_t length, uint64_t line, void *arg);
    int (*mapping)(const struct pp_mapping *mapping, uint64_t line, void *arg);
    /* A line of a "--- symbol" block. */
    int (*symbol)(uint64_t address, const char *name, size_t length, void *arg);
};

struct pp_error {
    int code; /* -errno: -EPROTO for a broken file, -EMSGSIZE for a limit, else the visitor's */
    uint64_t line; /* from 1 */
    char text[160];
};

struct pp_heap_reader; /* size from pp_heap_reader_size(); memory from the caller */

size_t pp_heap_reader_size(void);
void pp_heap_reader_init(struct pp_heap_reader *reader, const struct pp_heap_visitor *visitor,
                         void *arg);
/* 0, or the -errno also found in *ret_error (then nothing more may be pushed). */
int pp_heap_reader_push(struct pp_heap_reader *reader, const char *bytes, size_t size,
                        struct pp_error *ret_error);
/* The end of the file: reports a cut one (no header, no MAPPED_LIBRARIES in a file of ours, a last
 * line without its newline). */
int pp_heap_reader_finish(struct pp_heap_reader *reader, struct pp_error *ret_error);

/* True when the first bytes of a file look like this format, or like jemalloc's text format, which
 * the reader refuses by its name. */
bool pp_heap_detect(const char *bytes, size_t size);

/* The value of a "KEY VALUE" comment (still escaped, maybe of length 0), or NULL when text has
 * another key. Borrowed from text. */
const char *pp_comment_value(const char *text, size_t length, const char *key, size_t *ret_length);
/* Undoes \n, \\ and \xHH; other backslashes stay. buffer has room for length bytes and may be value
 * itself. Returns the new length; nothing is terminated. */
size_t pp_comment_unescape(const char *value, size_t length, char *buffer);

#endif
