/* SPDX-License-Identifier: MIT */
/* runs.h - runs of bits in the bitmaps of a segment.
 *
 * Layer core. Pure but for the words given. Runs lie within XP_SEGMENT_SLICES bits. */
#ifndef XP_CORE_RUNS_H
#define XP_CORE_RUNS_H

#include "base/compiler.h"

void xp_run_set(uint64_t *words, uint32_t first, uint32_t count);
void xp_run_clear(uint64_t *words, uint32_t first, uint32_t count);
/* How many bits of the run are set. */
uint32_t xp_run_count(const uint64_t *words, uint32_t first, uint32_t count);

/* The lowest run of count set bits that starts where (at + first) is a multiple of align. False:
 * none; *ret_longest is the longest run there is, aligned or not. */
bool xp_run_find(const uint64_t *words, uint32_t count, size_t at, size_t align,
                 uint32_t *ret_first, uint32_t *ret_longest);

/* The lowest set bit from `from` on, or XP_SEGMENT_SLICES; and the lowest clear one. */
uint32_t xp_run_next_set(const uint64_t *words, uint32_t from);
uint32_t xp_run_next_clear(const uint64_t *words, uint32_t from);

#endif
