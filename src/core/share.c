/* SPDX-License-Identifier: MIT */
/* share.c - how much a heap may keep in its magazines when there is a limit for all. */
#include "core/share.h"

#include "core/layers.h"
#include "core/sampling.h"

/* What one magazine holds at most, if its blocks are small enough for that many. */
#define MAGAZINE_BYTES ((uint32_t)128 << 10)
#define MAGAZINE_LEAST 4u
/* A class takes room from others at one miss in so many: classes that are all in use would only
 * empty each other's magazines. */
#define TAKE_TURN 8u

bool xp_share_limited;

static struct {
    size_t max;           /* of all heaps together; set once */
    _Atomic size_t share; /* of one */
} state;

void xp_share_init(const struct xp_core_options *options)
{
    state.max = options->cache_max_bytes;
    atomic_store_explicit(&state.share, state.max, memory_order_relaxed);
    xp_share_limited = state.max != SIZE_MAX;
}

static uint32_t size_of(unsigned medium)
{
    return xp_class_size[XP_SMALL_CLASSES + medium];
}

/* Blocks in the magazine without a limit. */
static uint32_t most(unsigned medium)
{
    uint32_t blocks = MAGAZINE_BYTES / size_of(medium);

    if (!xp_layer_works(XP_LAYER_MAG) || xp_sampling_exact())
        return 0;
    if (blocks > XP_MAGAZINE)
        return XP_MAGAZINE;
    return blocks < MAGAZINE_LEAST ? MAGAZINE_LEAST : blocks;
}

void xp_share_start(struct xp_heap *heap)
{
    for (unsigned i = 0; i < XP_MEDIUM_CLASSES && !xp_share_limited; i++)
        heap->cache.magazine[i].limit = (uint16_t)most(i);
}

void xp_share_divide(void)
{
    size_t heaps = 0;

    if (XP_LIKELY(!xp_share_limited))
        return;
    for (struct xp_heap *heap = atomic_load_explicit(&xp_heaps, memory_order_acquire); heap;
         heap = heap->next)
        heaps += atomic_load_explicit(&heap->life, memory_order_relaxed) == XP_HEAP_ACTIVE;
    atomic_store_explicit(&state.share, state.max / (heaps ? heaps : 1), memory_order_relaxed);
}

/* Lowers the limits of other classes, in turn, until they and bytes more are within the share. */
static bool make_room(struct xp_heap *heap, unsigned except, size_t share, size_t bytes)
{
    for (unsigned turn = 0; turn < 4 * XP_MEDIUM_CLASSES && heap->allowed_bytes + bytes > share;
         turn++) {
        unsigned i = heap->share_turn++ % XP_MEDIUM_CLASSES;
        struct xp_magazine *magazine = &heap->cache.magazine[i];
        if (i == except || magazine->limit == 0)
            continue;
        uint16_t less = magazine->limit / 4 ? magazine->limit / 4 : 1;
        magazine->limit = (uint16_t)(magazine->limit - less);
        heap->allowed_bytes -= (size_t)less * size_of(i);
        if (magazine->count > magazine->limit)
            xp_heap_flush_class(heap, XP_SMALL_CLASSES + i);
    }
    return heap->allowed_bytes + bytes <= share;
}

void xp_share_missed(struct xp_heap *heap, unsigned medium)
{
    struct xp_magazine *magazine = &heap->cache.magazine[medium];
    size_t share = atomic_load_explicit(&state.share, memory_order_relaxed);
    size_t size = size_of(medium), top = most(medium);

    if (heap->allowed_bytes > share)
        make_room(heap, XP_MEDIUM_CLASSES, share, 0);
    if (magazine->limit >= top || share < size)
        return;
    size_t more = magazine->limit ? magazine->limit : 2;
    if (more > top - magazine->limit)
        more = top - magazine->limit;
    size_t room = (share - (heap->allowed_bytes < share ? heap->allowed_bytes : share)) / size;
    if (more > room)
        more = room;
    if (more == 0 && heap->share_misses++ % TAKE_TURN == 0 && make_room(heap, medium, share, size))
        more = 1;
    magazine->limit = (uint16_t)(magazine->limit + more);
    heap->allowed_bytes += more * size;
}

size_t xp_share_cached(const struct xp_heap *heap)
{
    size_t bytes = 0;

    for (unsigned i = 0; i < XP_MEDIUM_CLASSES; i++)
        bytes +=
            (size_t)__atomic_load_n(&heap->cache.magazine[i].count, __ATOMIC_RELAXED) * size_of(i);
    return bytes;
}
