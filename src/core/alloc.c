/* SPDX-License-Identifier: MIT */
/* alloc.c - the slow way to a block: due or not, refill, magazines, slices of its own. */
#include "core/heap.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "core/arena.h"
#include "core/emergency.h"
#include "core/large.h"
#include "core/limits.h"
#include "core/sampled.h"
#include "core/sampling.h"
#include "core/share.h"
#include "core/slow.h"
#include "core/stats.h"
#include "core/sweep.h"

/* Samples of a heap between two looks at the clock: with T = 1 there is nothing else. */
#define SAMPLES_TURN 16u

static void *pop_list(struct xp_heap *heap, unsigned class)
{
    void *block = heap->cache.front.list[class];

    if (block)
        heap->cache.front.list[class] = xp_block_next(block);
    return block;
}

static void *pop_pending(struct xp_heap *heap, unsigned class)
{
    void *block = heap->pending[class];

    if (!block) {
        block = xp_heap_collect(heap, class, &heap->pending_count[class]);
        if (!block)
            return NULL;
    }
    heap->pending[class] = xp_block_next(block);
    heap->pending_count[class] -= heap->pending_count[class] > 1; /* the count is not exact */
    return block;
}

/* A small block, or the news that it is the sampled one. */
static int take_small(struct xp_heap *heap, unsigned class, void **ret_block, double *ret_weight)
{
    void *block = pop_list(heap, class);

    if (!block && heap->left[class] == 0)
        xp_sampling_draw_class(heap, class);
    if (!block && heap->left[class] == 1) {
        *ret_weight = heap->weight[class];
        xp_sampling_draw_class(heap, class);
        return XP_DUE;
    }
    if (!block) {
        uint32_t count = heap->pending_count[class];
        void *blocks = heap->pending[class];
        if (!blocks)
            blocks = xp_heap_collect(heap, class, &count);
        if (!blocks)
            return -ENOMEM;
        xp_sampling_hand_out(heap, class, blocks, count);
        block = pop_list(heap, class);
    }
    *ret_block = block;
    return 0;
}

/* Fills the magazine to the half: of what is freed next, as much finds room. */
static void *refill_magazine(struct xp_heap *heap, unsigned class)
{
    struct xp_magazine *magazine = &heap->cache.magazine[class - XP_SMALL_CLASSES];
    uint32_t count;

    if (XP_UNLIKELY(xp_share_limited))
        xp_share_missed(heap, class - XP_SMALL_CLASSES);
    void *blocks = xp_heap_collect(heap, class, &count);
    if (!blocks)
        return NULL;
    void *first = blocks;
    blocks = xp_block_next(blocks);
    while (blocks && magazine->count < magazine->limit / 2) {
        void *next = xp_block_next(blocks);
        magazine->slots[magazine->count++] = blocks;
        blocks = next;
    }
    /* The rest goes back to the page it came from, which is in use. */
    struct xp_page *page = heap->queue[class];
    while (blocks) {
        void *next = xp_block_next(blocks);
        xp_page_push(page, blocks);
        blocks = next;
    }
    return first;
}

static void *pop_magazine(struct xp_heap *heap, unsigned class)
{
    struct xp_magazine *magazine = &heap->cache.magazine[class - XP_SMALL_CLASSES];

    if (magazine->count == 0)
        return refill_magazine(heap, class);
    return magazine->slots[--magazine->count];
}

static int take_classed(struct xp_heap *heap, unsigned class, void **ret_block, double *ret_weight)
{
    if (class < XP_SMALL_CLASSES)
        return take_small(heap, class, ret_block, ret_weight);
    if (xp_sampling_charge(heap, xp_class_size[class], ret_weight))
        return XP_DUE;
    *ret_block = pop_magazine(heap, class);
    return *ret_block ? 0 : -ENOMEM;
}

static bool size_is_sane(size_t size, size_t align)
{
    return size <= PTRDIFF_MAX - XP_OS_PAGE && align <= (size_t)1 << 46;
}

/* What no heap could give. Whole pages come zeroed, the rest is cleared here. */
static void *finish(void *block, size_t size, size_t align, unsigned flags)
{
    if (!block)
        block = xp_emergency_alloc(size, align);
    if (block && (flags & XP_ALLOC_ZERO))
        memset(block, 0, size);
    return block;
}

static void tick(struct xp_heap *heap, bool is_due)
{
    if (!is_due ||
        atomic_load_explicit(&heap->slow_calls, memory_order_relaxed) % SAMPLES_TURN == 0)
        xp_sweep_if_due(heap);
}

static int due(size_t size, double weight, struct xp_due *ret_due)
{
    ret_due->weight = weight;
    ret_due->row_class = (uint16_t)xp_row_class(size);
    return XP_DUE;
}

static enum xp_slow_kind kind_of(unsigned class, size_t size)
{
    if (class != XP_NO_CLASS)
        return class < XP_SMALL_CLASSES ? XP_SLOW_SMALL : XP_SLOW_MEDIUM;
    return size <= XP_RUN_MAX_SLICES * XP_SLICE ? XP_SLOW_LARGE : XP_SLOW_HUGE;
}

int xp_heap_alloc_slow(size_t size, size_t align, unsigned flags, void **ret_block,
                       struct xp_due *ret_due)
{
    struct xp_slow slow;
    void *block = NULL;
    double weight = 1;

    if (!size_is_sane(size, align))
        return -ENOMEM;
    unsigned class = xp_class_find(size, align);
    xp_slow_enter(&slow);
    int r = -ENOMEM;
    if (slow.heap) {
        xp_count(&slow.heap->slow_allocs[kind_of(class, size)]);
        r = class != XP_NO_CLASS ? take_classed(slow.heap, class, &block, &weight)
                                 : xp_large_alloc(slow.heap, size, align, &flags, &block, &weight);
        if (r == XP_DUE)
            xp_count(&slow.heap->samples);
        tick(slow.heap, r == XP_DUE);
    }
    xp_slow_leave(&slow);
    if (r == XP_DUE)
        return due(size, weight, ret_due);
    block = finish(block, size, align, flags);
    if (!block) {
        xp_limits_say_refused();
        return -ENOMEM;
    }
    *ret_block = block;
    return 0;
}

void *xp_heap_alloc_unsampled(size_t size, size_t align, unsigned flags)
{
    struct xp_slow slow;
    void *block = NULL;

    if (!size_is_sane(size, align))
        return NULL;
    unsigned class = xp_class_find(size, align);
    xp_slow_enter(&slow);
    if (slow.heap) {
        if (class == XP_NO_CLASS)
            block = xp_large_take(size, align, &flags);
        else if (class < XP_SMALL_CLASSES)
            block = pop_pending(slow.heap, class);
        else
            block = pop_magazine(slow.heap, class);
    }
    xp_slow_leave(&slow);
    return finish(block, size, align, flags);
}

void *xp_heap_alloc_sampled(size_t size, size_t align, unsigned flags,
                            const struct xp_record *record)
{
    struct xp_slow slow;
    void *block = NULL;

    if (!size_is_sane(size, align))
        return NULL;
    unsigned class = xp_class_find(size, align);
    xp_slow_enter(&slow);
    if (slow.heap) {
        if (class != XP_NO_CLASS) {
            block = xp_sampled_alloc(class, slow.heap->serial, record);
        } else {
            block = xp_large_take(size, align, &flags);
            if (block)
                xp_heap_attach_record(block, record);
        }
    }
    xp_slow_leave(&slow);
    return block ? finish(block, size, align, flags) : NULL;
}
