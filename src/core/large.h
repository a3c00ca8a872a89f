/* SPDX-License-Identifier: MIT */
/* large.h - blocks of whole OS pages: runs of slices, and beyond them mappings.
 *
 * Layer core. */
#ifndef XP_CORE_LARGE_H
#define XP_CORE_LARGE_H

#include "core/state.h"

/* A block for the request. When its bytes are zero already, XP_ALLOC_ZERO is taken out of *flags.
 * NULL without memory. The caller is inside a slow path. */
void *xp_large_take(size_t size, size_t align, unsigned *flags);

/* The same, unless it is the sampled one: 0, XP_DUE or -ENOMEM. */
int xp_large_alloc(struct xp_heap *heap, size_t size, size_t align, unsigned *flags,
                   void **ret_block, double *ret_weight);

/* Ends the life of a large block: only one of several callers gets true, and gives the slices. */
bool xp_large_claim(struct xp_page *page);

/* What a block of that size is charged to the sampling: whole OS pages. */
size_t xp_large_charge(size_t size);

#endif
