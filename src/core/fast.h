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
#include "core/page.h"

/* The last block of a page came back to its heap. */
void xp_heap_page_emptied(struct xp_page *page);

XP_ALWAYS_INLINE void *xp_fast_alloc_medium(struct xp_front *front, size_t size)
{
    unsigned class = xp_medium_class[(size - 1) >> 8];
    int64_t charge = xp_class_size[XP_SMALL_CLASSES + class];
    unsigned count = front->count[class];

    if (XP_UNLIKELY(count == 0 || front->bytes_left < charge))
        return NULL;
    front->bytes_left -= charge;
    front->count[class] = (uint16_t)(count - 1);
    return ((struct xp_cache *)front)->slots[class][count - 1];
}

/* A block, or NULL: go on with xp_heap_alloc_slow(). */
XP_ALWAYS_INLINE void *xp_fast_alloc(size_t size)
{
    struct xp_front *front = xp_tls_front;

    if (XP_UNLIKELY(size > XP_SMALL_MAX))
        return size <= XP_MEDIUM_MAX ? xp_fast_alloc_medium(front, size) : NULL;
    void **list = &front->list[xp_small_class[(size + 15) >> 4]];
    void *block = *list;
    if (XP_UNLIKELY(!block))
        return NULL;
    *list = xp_block_next(block);
    return block;
}

/* True when p is free now; false: go on with xp_heap_free_slow(). p may be NULL (false). */
XP_ALWAYS_INLINE bool xp_fast_free(void *p)
{
    struct xp_front *front = xp_tls_front;
    struct xp_arena *arena = &xp_arenas[0];
    uintptr_t offset = (uintptr_t)p - atomic_load_explicit(&arena->base, memory_order_relaxed);

    if (XP_UNLIKELY(offset >= atomic_load_explicit(&arena->limit, memory_order_relaxed)))
        return false;
    struct xp_page *page =
        atomic_load_explicit(&arena->map[offset >> XP_SLICE_SHIFT], memory_order_relaxed);
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_relaxed);
    if (XP_LIKELY(owner == (uintptr_t)front)) {
        if (XP_UNLIKELY(xp_page_push(page, p) == 0))
            xp_heap_page_emptied(page);
        return true;
    }
    if (owner != ((uintptr_t)front | XP_OWNER_MEDIUM))
        return false;
    unsigned class = page->size_class - XP_SMALL_CLASSES;
    unsigned count = front->count[class];
    if (XP_UNLIKELY(count >= front->limit[class]))
        return false;
    ((struct xp_cache *)front)->slots[class][count] = p;
    front->count[class] = (uint16_t)(count + 1);
    return true;
}

#endif
