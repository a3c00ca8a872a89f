/* SPDX-License-Identifier: MIT */
/* heap_types.h - the pieces of a .heap text profile, as writer and reader exchange them.
 *
 * Layer pprof-compat/format; uses base. The grammar and the meaning of each number stand in
 * ../FORMAT.md. */
#ifndef PP_FORMAT_HEAP_TYPES_H
#define PP_FORMAT_HEAP_TYPES_H

#include "base/compiler.h"

/* The four numbers of a row or of the header. */
struct pp_counts {
    int64_t inuse_objects, inuse_bytes;
    int64_t alloc_objects, alloc_bytes;
};

enum pp_heap_kind {
    PP_HEAPPROFILE, /* "@ heapprofile": numbers are what they say */
    PP_HEAP_V2,     /* "@ heap_v2/RATE": samples, to be scaled row by row */
    PP_HEAP_V1,     /* "@ heap/RATE" or none: the older scaling */
    PP_GROWTH,      /* "@ growth": numbers are what they say */
};

struct pp_header {
    struct pp_counts totals;
    enum pp_heap_kind kind;
    int64_t rate; /* mean bytes between samples as scaling needs it; 1: exact; 0: not given */
};

/* One stack: pcs are return addresses, innermost first. The first may be the entry point of the
 * allocator. All pointers are borrowed during the call. */
struct pp_row {
    struct pp_counts counts;
    const uint64_t *pcs;
    size_t depth;
};

/* One line of MAPPED_LIBRARIES. */
struct pp_mapping {
    uint64_t start, limit, offset;
    uint64_t device, inode;
    bool readable, writable, executable, is_private;
    bool deleted;     /* the path ended in " (deleted)", which is cut off */
    const char *path; /* not terminated; "" for anonymous memory; [vdso] and the like as they are */
    size_t path_length;
    const char *build_id; /* lower-case hex where the line or a comment gave it, else NULL */
};

#endif
