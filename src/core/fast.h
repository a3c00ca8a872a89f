/* SPDX-License-Identifier: MIT */
/* fast.h - the paths that nearly every malloc and free takes.
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
/* The batch of the front, which is the caller's own, goes to its page. */
void xp_remote_publish(struct xp_front *front);

XP_ALWAYS_INLINE void *xp_fast_alloc_medium(struct xp_front *front, size_t size)
{
    unsigned class = xp_medium_class[(size - 1) >> 8];
    int64_t charge = xp_class_size[XP_SMALL_CLASSES + class];

    /* The fronts without magazines have no bytes left. */
    if (XP_UNLIKELY(front->bytes_left < charge))
        return NULL;
    void *block = xp_restart_pop_slot(&((struct xp_cache *)front)->magazine[class], front->restart);
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
    return xp_restart_pop(&front->list[front->class_of[(size + 15) >> 4]], front->restart);
}

/* The page of the first arena that p lies in; false: elsewhere. (Not by a NULL, which compilers
 * would test for once more.) */
XP_ALWAYS_INLINE bool xp_fast_find_page(const void *p, struct xp_page **ret_page)
{
    struct xp_arena *arena = &xp_arenas[0];
    uintptr_t offset = (uintptr_t)p;

    /* As by atomic loads, which compilers do not fold into the instructions that use them. */
    __asm__ goto("sub %[base], %[offset]\n"
                 "cmp %[limit], %[offset]\n"
                 "jae %l[out]\n"
                 : [offset] "+r"(offset)
                 : [base] "m"(arena->base), [limit] "m"(arena->limit)
                 : "cc"
                 : out);
    *ret_page = atomic_load_explicit(&arena->map[offset >> XP_SLICE_SHIFT], memory_order_relaxed);
    return true;
out:
    return false;
}

/* True when p is free now; false: go on with xp_heap_free_slow(), or xp_remote_free() before, which
 * is short. p may be NULL (false). */
XP_ALWAYS_INLINE bool xp_fast_free(void *p)
{
    struct xp_front *front = xp_tls_front;
    struct xp_page *page;

    if (!xp_fast_find_page(p, &page))
        return false;
    switch (xp_restart_push(page, p, front, front->restart)) {
    case XP_RESTART_DONE:
        return true;
    case XP_RESTART_LAST:
        xp_heap_page_emptied(page);
        return true;
    case XP_RESTART_ABORTED:
        return false;
    case XP_RESTART_OTHER:
        break;
    }
    if (atomic_load_explicit(&page->owner, memory_order_relaxed) ==
        ((uintptr_t)front | XP_OWNER_MEDIUM))
        return xp_restart_push_slot(
            &((struct xp_cache *)front)->magazine[page->size_class - XP_SMALL_CLASSES], p,
            front->restart);
    switch (xp_restart_push_batch(front, page, p, front->restart)) {
    case XP_RESTART_DONE:
        return true;
    case XP_RESTART_LAST:
        xp_remote_publish(front);
        return true;
    case XP_RESTART_ABORTED:
    case XP_RESTART_OTHER:
        break;
    }
    return false;
}

/* True when p, a live block, serves for size bytes as it is, and no record says otherwise; false:
 * go on with xp_heap_resize_stay(). p may be NULL (false); size 0 is none (false). */
XP_ALWAYS_INLINE bool xp_fast_stays(const void *p, size_t size)
{
    struct xp_page *page;

    /* Whichever heap's it is: a page with a block in use keeps its class. */
    if (!xp_fast_find_page(p, &page) ||
        atomic_load_explicit(&page->owner, memory_order_relaxed) < XP_OWNER_CONSTANTS)
        return false;
    if (size - 1 < XP_SMALL_MAX)
        return xp_small_class[(size + 15) >> 4] == page->size_class;
    return size - 1 < XP_MEDIUM_MAX &&
           xp_medium_class[(size - 1) >> 8] == page->size_class - XP_SMALL_CLASSES;
}

#endif
