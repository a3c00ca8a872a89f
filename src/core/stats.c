/* SPDX-License-Identifier: MIT */
/* stats.c - figures of the whole allocator. */
#include "core/stats.h"

#include <string.h>

#include "core/arena.h"
#include "core/heap.h"
#include "core/huge.h"
#include "core/limits.h"
#include "core/purge.h"
#include "core/share.h"
#include "core/slow.h"

_Atomic uint64_t xp_invalid_frees;
_Atomic uint64_t xp_headless_frees;
_Atomic uint64_t xp_populate_calls, xp_populate_bytes;

static uint64_t read_counter(_Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

void xp_core_stats_get(struct xp_core_stats *ret_stats)
{
    struct xp_core_stats s;

    memset(&s, 0, sizeof(s));
    for (struct xp_heap *heap = atomic_load_explicit(&xp_heaps, memory_order_acquire); heap;
         heap = heap->next) {
        s.slow_calls += read_counter(&heap->slow_calls);
        s.remote_frees += read_counter(&heap->remote_frees);
        s.batched_frees += read_counter(&heap->batched_frees);
        s.samples += read_counter(&heap->samples);
        s.slow_small += read_counter(&heap->slow_allocs[XP_SLOW_SMALL]);
        s.slow_medium += read_counter(&heap->slow_allocs[XP_SLOW_MEDIUM]);
        s.slow_large += read_counter(&heap->slow_allocs[XP_SLOW_LARGE]);
        s.slow_huge += read_counter(&heap->slow_allocs[XP_SLOW_HUGE]);
        s.heaps++;
        s.cached_bytes += xp_share_cached(heap);
    }
    s.remote_frees += read_counter(&xp_headless_frees);
    s.adopted_heaps = read_counter(&xp_heaps_adopted);
    s.stolen_pages = read_counter(&xp_pages_stolen);
    s.abandoned = read_counter(&xp_heaps_abandoned) + xp_limits_timeouts();
    s.emergency = read_counter(&xp_emergency_calls);
    s.invalid_frees = read_counter(&xp_invalid_frees);
    struct xp_purge_stats purge;
    xp_purge_stats_get(&purge);
    s.purge_calls = purge.calls;
    s.purge_bytes = purge.bytes;
    s.purge_ns = purge.ns;
    s.purge_longest_ns = purge.longest_ns;
    s.purge_held_back = purge.held_back;
    s.purge_reused = read_counter(&xp_arena_stats.reused_slices) << XP_SLICE_SHIFT;
    s.fresh_slices = read_counter(&xp_arena_stats.fresh_slices);
    s.populate_calls = read_counter(&xp_populate_calls);
    s.populate_bytes = read_counter(&xp_populate_bytes);
    s.refused = xp_limits_refused();
    size_t used = atomic_load_explicit(&xp_arena_stats.used_slices, memory_order_relaxed);
    size_t dirty = atomic_load_explicit(&xp_arena_stats.dirty_slices, memory_order_relaxed);
    s.dirty_bytes = dirty << XP_SLICE_SHIFT;
    s.committed_bytes = (used + dirty) << XP_SLICE_SHIFT;
    s.huge_bytes = xp_huge_bytes();
    s.live_bytes = (used << XP_SLICE_SHIFT) + s.huge_bytes;
    s.mapped_bytes =
        atomic_load_explicit(&xp_arena_stats.committed_bytes, memory_order_relaxed) + s.huge_bytes;
    *ret_stats = s;
}
