/* SPDX-License-Identifier: MIT */
/* core_malloc.h - malloc and free as preload builds them from the core, for the tests of the core.
 *
 * A sampled allocation gets a record whose node is t_node. */
#ifndef XP_TESTS_CORE_MALLOC_H
#define XP_TESTS_CORE_MALLOC_H

#include "core/fast.h"
#include "core/heap.h"

static __thread uint32_t t_node = 1;
static __thread uint64_t t_taken; /* records that came back by t_free() */
static __thread double t_taken_weight;
static __thread enum xp_free_result t_result;

XP_UNUSED static void *t_aligned(size_t size, size_t align, unsigned flags)
{
    void *block = align || flags ? NULL : xp_fast_alloc(size);
    struct xp_due due;

    if (block)
        return block;
    int r = xp_heap_alloc_slow(size, align, flags, &block, &due);
    if (r == XP_DUE) {
        struct xp_record record = {
            .size = size, .weight = due.weight, .node = t_node, .row_class = due.row_class};
        block = xp_heap_alloc_sampled(size, align, flags, &record);
        return block ? block : xp_heap_alloc_unsampled(size, align, flags);
    }
    return r == 0 ? block : NULL;
}

XP_UNUSED static void *t_malloc(size_t size)
{
    return t_aligned(size, 0, 0);
}

XP_UNUSED static void *t_calloc(size_t size)
{
    return t_aligned(size, 0, XP_ALLOC_ZERO);
}

XP_UNUSED static void t_free(void *p)
{
    struct xp_record record;

    t_result = XP_FREE_DONE;
    if (xp_fast_free(p) || !p || xp_remote_free(p))
        return;
    t_result = xp_heap_free_slow(p, &record);
    if (t_result == XP_FREE_SAMPLED) {
        t_taken++;
        t_taken_weight += record.weight;
        xp_heap_release_sampled(p);
    }
}

#endif
