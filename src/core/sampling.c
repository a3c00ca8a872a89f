/* SPDX-License-Identifier: MIT */
/* sampling.c - which allocation is the sampled one: draws, and what they weigh. */
#include "core/sampling.h"

#include "base/panic.h"
#include "base/real.h"
#include "core/layers.h"

/* A countdown that never ends, with room for what is added to it. */
#define NEVER ((uint64_t)INT64_MAX / 2)

static struct {
    _Atomic uint64_t mean; /* T: bytes between samples; 0 off, 1 exact */
    uint64_t seed;         /* set once, before threads */
} state;

void xp_sampling_init(const struct xp_core_options *options)
{
    state.seed = options->seed;
    atomic_store_explicit(&state.mean, options->sample_bytes, memory_order_relaxed);
}

static uint64_t mean_now(void)
{
    return atomic_load_explicit(&state.mean, memory_order_relaxed);
}

uint64_t xp_heap_sample_bytes(void)
{
    return mean_now();
}

bool xp_sampling_exact(void)
{
    return mean_now() == 1;
}

void xp_sampling_start_heap(struct xp_heap *heap)
{
    xp_rng_seed(&heap->rng, xp_rng_stream(state.seed, heap->serial));
}

void xp_sampling_draw_class(struct xp_heap *heap, unsigned size_class)
{
    uint64_t mean = mean_now();

    heap->weight[size_class] = 1;
    if (mean == 0 || !xp_layer_works(XP_LAYER_CUT)) {
        heap->left[size_class] = NEVER;
        return;
    }
    if (mean == 1) {
        heap->left[size_class] = 1;
        return;
    }
    double size = xp_class_size[size_class];
    double blocks = xp_rng_exponential(&heap->rng, (double)mean) / size;
    uint64_t left = blocks >= (double)NEVER ? NEVER : (uint64_t)blocks;
    if ((double)left < blocks)
        left++;
    heap->left[size_class] = left ? left : 1;
    heap->weight[size_class] = 1 / xp_hit_probability(size / (double)mean);
}

static void draw_bytes(struct xp_heap *heap)
{
    uint64_t mean = mean_now();

    heap->bytes_mean = (double)mean;
    if (mean == 0) {
        heap->bytes_mean = -1; /* drawn, and no chance at all */
        heap->cache.front.bytes_left = (int64_t)NEVER;
    } else if (mean == 1) {
        heap->cache.front.bytes_left = 0;
    } else {
        double bytes = xp_rng_exponential(&heap->rng, (double)mean);
        heap->cache.front.bytes_left = bytes >= (double)NEVER ? (int64_t)NEVER : (int64_t)bytes;
    }
}

bool xp_sampling_charge(struct xp_heap *heap, size_t charge, double *ret_weight)
{
    if (heap->bytes_mean == 0)
        draw_bytes(heap);
    if (heap->cache.front.bytes_left >= (int64_t)charge) {
        heap->cache.front.bytes_left -= (int64_t)charge;
        return false;
    }
    double mean = heap->bytes_mean;
    draw_bytes(heap);
    if (mean < 0) /* off: the counter has run out after all */
        return false;
    *ret_weight = mean == 1 ? 1 : 1 / xp_hit_probability((double)charge / mean);
    return true;
}

void xp_sampling_put_back(struct xp_heap *heap, unsigned size_class, const void *blocks)
{
    for (; blocks && heap->left[size_class]; blocks = xp_block_next(blocks))
        heap->left[size_class]++;
}

void xp_sampling_hand_out(struct xp_heap *heap, unsigned size_class, void *blocks, uint32_t count)
{
    uint64_t left = heap->left[size_class];

    XP_ASSERT(left >= 2 && count >= 1);
    heap->cache.front.list[size_class] = blocks;
    /* The sampled one is the left-th: all before it go, what is behind waits. */
    void *last = count < left ? NULL : blocks;
    uint64_t n = left - 1;
    for (; n > 1 && last; n--)
        last = xp_block_next(last);
    if (!last) {
        heap->left[size_class] = count < left ? left - count : n + 1; /* shorter than it was said */
        heap->pending[size_class] = NULL;
        heap->pending_count[size_class] = 0;
        return;
    }
    heap->pending[size_class] = xp_block_next(last);
    heap->pending_count[size_class] = count - (uint32_t)(left - 1);
    heap->left[size_class] = 1;
    xp_block_link(last, NULL);
}
