/* SPDX-License-Identifier: MIT */
/* table.h - the rows of one dump: estimates gathered, then rounded.
 *
 * Layer profile; uses base, format. One owner, no locks; memory from xp_meta_map(), given back. */
#ifndef XP_PROFILE_TABLE_H
#define XP_PROFILE_TABLE_H

#include "base/compiler.h"
#include "format/heap_types.h"

struct xp_table_row {
    uint32_t node;
    uint32_t row_class;
    double inuse_objects, inuse_bytes;
    double alloc_objects, alloc_bytes;
};

struct xp_table {
    struct xp_table_row *rows;
    size_t count;
    size_t capacity;  /* of rows */
    uint32_t *index;  /* row number + 1 by hash, 0 empty; 2 * capacity long */
    size_t map_bytes; /* rows and index lie in one mapping that starts at rows */
};

/* Room for expected rows; grows on demand. 0 or -ENOMEM. */
int xp_table_init(struct xp_table *table, size_t expected);
void xp_table_fini(struct xp_table *table);

/* The row of (node, class), a new one with all sums 0 if need be; NULL without memory. Valid until
 * the next call. */
struct xp_table_row *xp_table_row(struct xp_table *table, uint32_t node, unsigned row_class);

/* Whole numbers for a row. Each estimate x becomes floor(x + u); u is in [0,1), fixed by seed, node
 * and class, and the same for in use and allocated. So the numbers are right on average over seeds,
 * move between two dumps only when the estimate does, and in use never exceeds allocated. Bytes > 0
 * have at least one object. */
void xp_table_round(const struct xp_table_row *row, uint64_t seed, struct pp_counts *ret_counts);

#endif
