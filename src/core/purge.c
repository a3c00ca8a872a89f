/* SPDX-License-Identifier: MIT */
/* purge.c - free slices go back to the system: by age, by amount, in runs that are worth a call. */
#include "core/purge.h"

#include <sys/mman.h>

#include "base/os.h"
#include "core/arena.h"

/* The kernel drops up to 33 pages one by one, and each may trap to a hypervisor; from 34 on it is
 * one flush. Three slices are 48 pages. */
#define RUN_LEAST 3u
/* A slow path stays short: what is left is for the next one. */
#define RUN_MOST 64u
/* A purger that is not back by then has left by a jump. */
#define BUSY_MOST_NS ((uint64_t)1000 * 1000 * 1000)
#define DIRTY_LEAST  ((size_t)8 << 20)
/* A thread of its own looks this often at nothing, and at something at most. */
#define PAUSE_IDLE_NS  ((uint64_t)500 * 1000 * 1000)
#define PAUSE_LEAST_NS ((uint64_t)5 * 1000 * 1000)

static struct {
    uint64_t delay_ns;     /* both set once, before threads */
    size_t dirty_max;      /* bytes; 0: from the peak */
    _Atomic uint64_t due;  /* coarse clock: nothing is old enough before */
    _Atomic uint64_t busy; /* since when somebody purges, coarse clock; one is enough */
} state;

void xp_purge_init(const struct xp_core_options *options)
{
    state.delay_ns = options->purge_delay_ns;
    state.dirty_max = options->dirty_max_bytes;
}

static size_t dirty_max(void)
{
    if (state.dirty_max)
        return state.dirty_max;
    size_t peak = atomic_load_explicit(&xp_arena_stats.peak_slices, memory_order_relaxed);
    size_t share = (peak << XP_SLICE_SHIFT) / 16;
    return share > DIRTY_LEAST ? share : DIRTY_LEAST;
}

static size_t dirty_now(void)
{
    return atomic_load_explicit(&xp_arena_stats.dirty_slices, memory_order_relaxed)
           << XP_SLICE_SHIFT;
}

/* The run is taken out of the arena meanwhile, so no lock is held during the call. */
static void drop(struct xp_page *page)
{
    size_t size = (size_t)page->slices << XP_SLICE_SHIFT;
    bool gone = xp_os_advise((void *)xp_page_base(page), size, MADV_DONTNEED) == 0;

    if (gone) {
        atomic_fetch_add_explicit(&xp_arena_stats.purge_calls, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&xp_arena_stats.purge_bytes, size, memory_order_relaxed);
    }
    xp_slices_give(page, gone, false);
}

/* Drops runs until `enough` says stop or none is left; false when none was found. */
static bool drop_runs(uint64_t older_than_ns, uint32_t run_least, uint32_t slices_most)
{
    struct xp_dirty_cursor cursor = {.older_than_ns = older_than_ns, .run_least = run_least};
    uint32_t dropped = 0;

    while (dropped < slices_most) {
        cursor.run_most = slices_most - dropped < RUN_MOST ? slices_most - dropped : RUN_MOST;
        struct xp_page *page = xp_slices_take_dirty(&cursor);
        if (!page)
            break;
        dropped += page->slices;
        drop(page);
    }
    return dropped > 0;
}

bool xp_purge_all(void)
{
    return drop_runs(UINT64_MAX, 1, UINT32_MAX);
}

uint64_t xp_purge_pause_ns(void)
{
    if (state.delay_ns == XP_PURGE_NEVER)
        return 0;
    if (dirty_now() == 0)
        return PAUSE_IDLE_NS;
    uint64_t pause = state.delay_ns / 4;
    if (pause < PAUSE_LEAST_NS)
        return PAUSE_LEAST_NS;
    return pause < PAUSE_IDLE_NS ? pause : PAUSE_IDLE_NS;
}

void xp_purge_if_due(void)
{
    size_t dirty = dirty_now();
    if (dirty == 0)
        return;
    bool much = dirty > dirty_max();
    uint64_t now = xp_os_now_coarse_ns();
    if (!much && now < atomic_load_explicit(&state.due, memory_order_relaxed))
        return;
    uint64_t busy = atomic_load_explicit(&state.busy, memory_order_relaxed);
    if ((busy != 0 && now - busy < BUSY_MOST_NS) ||
        !atomic_compare_exchange_strong_explicit(&state.busy, &busy, now, memory_order_relaxed,
                                                 memory_order_relaxed))
        return;
    if (much) {
        /* Down to the middle, so that the next free does not come here again. */
        uint32_t over = (uint32_t)((dirty - dirty_max() / 2) >> XP_SLICE_SHIFT);
        drop_runs(UINT64_MAX, RUN_LEAST, over < 2 * RUN_MOST ? over : 2 * RUN_MOST);
    } else {
        uint64_t old = now > state.delay_ns ? now - state.delay_ns : 0;
        bool more = drop_runs(old, RUN_LEAST, RUN_MOST);
        atomic_store_explicit(&state.due, more ? now : now + state.delay_ns / 4,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&state.busy, 0, memory_order_relaxed);
}
