/* SPDX-License-Identifier: MIT */
/* fast.h - the two paths that nearly every malloc and free takes.
 *
 * Layer core. Inline in preload's exported functions, which stay frameless and tail-jump to their
 * slow twins. */
#ifndef XP_CORE_FAST_H
#define XP_CORE_FAST_H

#include "core/heap.h"

/* A block, or NULL: go on with xp_heap_alloc_slow(). */
XP_ALWAYS_INLINE void *xp_fast_alloc(size_t size)
{
    (void)size;
    return NULL;
}

/* True when p is free now; false: go on with xp_heap_free_slow(). p may be NULL (false). */
XP_ALWAYS_INLINE bool xp_fast_free(void *p)
{
    (void)p;
    return false;
}

#endif
