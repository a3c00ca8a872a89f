/* SPDX-License-Identifier: MIT */
/* fast.h - the two paths that nearly every malloc and free takes.
 *
 * Layer core. Inline in preload's exported functions, which stay frameless and tail-jump to their
 * slow twins. */
#ifndef XP_CORE_FAST_H
#define XP_CORE_FAST_H

#include "core/arena.h"
#include "core/front.h"
#include "core/heap.h"
#include "core/restart.h"

/* The last block of a page came back to its heap. */
void xp_heap_page_emptied(struct xp_page *page);

XP_ALWAYS_INLINE void *xp_fast_alloc_medium(struct xp_front *front, size_t size)
{
    unsigned class = xp_medium_class[(size - 1) >> 8];
    int64_t charge = xp_class_size[XP_SMALL_CLASSES + class];

    if (XP_UNLIKELY(front->bytes_left < charge))
        return NULL;
    void *block = xp_restart_pop_slot(((struct xp_cache *)front)->slots[class],
                                      &front->count[class], front->restart);
    if (XP_LIKELY(block != NULL))
        xp_restart_subtract(&front->bytes_left, charge);
    return block;
}

/* A block, or NULL: go on with xp_heap_alloc_slow(). */
XP_ALWAYS_INLINE void *xp_fast_alloc(size_t size)
{
    struct xp_front *front = xp_tls_front;

    if (XP_UNLIKELY(size > XP_SMALL_MAX))
        return size <= XP_MEDIUM_MAX ? xp_fast_alloc_medium(front, size) : NULL;
    return xp_restart_pop(&front->list[xp_small_class[(size + 15) >> 4]], front->restart);
}

/* True when p is free now; false: go on with xp_heap_free_slow(). p may be NULL (false). */
XP_ALWAYS_INLINE bool xp_fast_free(void *p)
{
    struct xp_front *front = xp_tls_front;
    struct xp_arena *arena = &xp_arenas[0];
    uintptr_t offset = (uintptr_t)p - atomic_load_explicit(&arena->base, memory_order_relaxed);
    uint16_t out;

    if (XP_UNLIKELY(offset >= atomic_load_explicit(&arena->limit, memory_order_relaxed)))
        return false;
    struct xp_page *page =
        atomic_load_explicit(&arena->map[offset >> XP_SLICE_SHIFT], memory_order_relaxed);
    switch (xp_restart_push(page, p, front, front->restart, &out)) {
    case XP_RESTART_DONE:
        if (XP_UNLIKELY(out == 0))
            xp_heap_page_emptied(page);
        return true;
    case XP_RESTART_ABORTED:
        return false;
    case XP_RESTART_OTHER:
        break;
    }
    if (atomic_load_explicit(&page->owner, memory_order_relaxed) !=
        ((uintptr_t)front | XP_OWNER_MEDIUM))
        return false;
    unsigned class = page->size_class - XP_SMALL_CLASSES;
    return xp_restart_push_slot(((struct xp_cache *)front)->slots[class], &front->count[class],
                                &front->limit[class], p, front->restart);
}

#endif
