/* SPDX-License-Identifier: MIT */
/* value.h - what a text of the environment means.
 *
 * Layer preload; uses base. Nothing here allocates or prints by itself. */
#ifndef XP_PRELOAD_VALUE_H
#define XP_PRELOAD_VALUE_H

#include "base/compiler.h"
#include "base/out.h"

enum xp_value_kind {
    XP_VALUE_TEXT,   /* anything; its number is 0 */
    XP_VALUE_FLAG,   /* 0 or 1, and words for them */
    XP_VALUE_SIZE,   /* bytes; k, M, G, T are powers of 1024 */
    XP_VALUE_COUNT,  /* a whole number */
    XP_VALUE_SIGNED, /* a whole number, kept as two's complement */
    XP_VALUE_CHOICE, /* one of the words, by index */
    XP_VALUE_LESS,   /* words to leave out, -WORD,-WORD: bit 1 << index of each one that stays */
    XP_VALUE_STATS,  /* a flag or json:FILE: enum xp_stats_form */
    XP_VALUE_MIB,    /* a whole number of MiB, in bytes */
    XP_VALUE_RATE,   /* gperftools' rate of release, as the delay of XPROF_PURGE_DELAY_MS */
    XP_VALUE_ABOVE,  /* bytes as a whole number; 0 for it and for all below */
};

enum xp_stats_form { XP_STATS_NONE, XP_STATS_TEXT, XP_STATS_JSON };

#define XP_VALUE_WORD UINT64_MAX /* the number of a word that stands for one, as "never" does */

struct xp_value_type {
    enum xp_value_kind kind;
    uint64_t least, most; /* of SIZE, COUNT, SIGNED, MIB; of XP_VALUE_RATE in thousandths */
    const char *words;    /* CHOICE, LESS: all of them, separated by |; SIZE, COUNT: NULL, or a
                             word that is accepted beside the numbers */
};

/* False: the text is none of the type, and *ret_value is as it was. */
bool xp_value_parse(const struct xp_value_type *type, const char *text, uint64_t *ret_value);

/* "a whole number from 1 to 64": what is accepted, as a part of a sentence. */
void xp_value_print_type(struct xp_out *out, const struct xp_value_type *type);
/* A value as it could have been given. XP_VALUE_TEXT: "unset". */
void xp_value_print(struct xp_out *out, const struct xp_value_type *type, uint64_t value);

/* What follows "json:" in a text of XP_VALUE_STATS. */
const char *xp_value_stats_file(const char *text);

#endif
