/* SPDX-License-Identifier: MIT */
/* start.c - options, once; and the calls that concern all heaps. */
#include "core/heap.h"

#include <errno.h>

#include "base/lock.h"
#include "core/arena.h"
#include "core/fork.h"
#include "core/huge.h"
#include "core/layers.h"
#include "core/limits.h"
#include "core/purge.h"
#include "core/sampled.h"
#include "core/sampling.h"
#include "core/share.h"
#include "core/slot.h"
#include "core/slow.h"
#include "core/sweep.h"

static struct xp_lock start_lock = XP_LOCK_INIT(XP_RANK_REGISTRY);
static _Atomic bool started;

uint32_t xp_layers = XP_LAYERS_ALL;

static void start(const struct xp_core_options *options)
{
    uint64_t signals;

    xp_lock_take_masked(&start_lock, &signals);
    if (!atomic_load_explicit(&started, memory_order_relaxed)) {
        xp_layers = options->layers;
        xp_sampling_init(options);
        xp_share_init(options);
        xp_purge_init(options);
        xp_limits_set_heap(options->heap_limit_bytes);
        xp_fork_init();
        xp_arena_init(options);
        /* release: pairs with the acquire in xp_start_ensure(). */
        atomic_store_explicit(&started, true, memory_order_release);
    }
    xp_lock_give_restore(&start_lock, &signals);
}

void xp_start_ensure(void)
{
    struct xp_core_options defaults;

    if (XP_UNLIKELY(!atomic_load_explicit(&started, memory_order_acquire))) {
        xp_core_options_default(&defaults);
        start(&defaults);
    }
}

void xp_core_options_default(struct xp_core_options *ret_options)
{
    *ret_options = (struct xp_core_options){
        .cache_max_bytes = SIZE_MAX,
        .purge_delay_ns = 100 * 1000 * 1000,
        .layers = XP_LAYERS_ALL,
    };
}

int xp_core_init(const struct xp_core_options *options)
{
    start(options);
    return xp_arena_is_usable() ? 0 : -ENOMEM;
}

bool xp_heap_trim(void)
{
    struct xp_slow slow;
    bool any = false;

    xp_slow_enter(&slow);
    if (slow.heap) {
        if (!slow.fallback)
            xp_heap_flush(slow.heap);
        xp_sampled_trim();
        any = xp_purge_all();
    }
    xp_slow_leave(&slow);
    return any;
}

uint64_t xp_heap_background(void)
{
    xp_sweep();
    return xp_purge_pause_ns();
}

void xp_core_limit_address_space(uint64_t limit)
{
    struct xp_slow slow;

    if (limit == UINT64_MAX)
        return;
    xp_slow_enter(&slow);
    if (slow.heap)
        xp_arena_give_up_reserve(limit);
    xp_slow_leave(&slow);
}

void xp_core_limit_reservations(uint64_t limit)
{
    xp_limits_set(limit);
}

/* ---- all records ---- */

struct walk {
    void (*fn)(const struct xp_record *record, void *block, void *arg);
    void *arg;
};

static void walk_page(struct xp_page *page, void *arg)
{
    struct walk *walk = arg;
    struct xp_record record;
    /* seq_cst: after the walk was announced, see core/sampled.c. */
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_seq_cst);

    if (owner == XP_OWNER_SAMPLED)
        xp_sampled_each(page, walk->fn, walk->arg);
    else if (owner == XP_OWNER_LARGE && xp_slot_read(&page->slot, &record))
        walk->fn(&record, (void *)xp_page_base(page), walk->arg);
}

static void walk_huge(struct xp_huge *huge, void *arg)
{
    struct walk *walk = arg;
    struct xp_record record;

    if (xp_slot_read(&huge->slot, &record))
        walk->fn(&record, (void *)atomic_load_explicit(&huge->start, memory_order_relaxed),
                 walk->arg);
}

void xp_heap_each_record(void (*fn)(const struct xp_record *record, void *block, void *arg),
                         void *arg)
{
    struct walk walk = {fn, arg};

    xp_sampled_walk_begin();
    xp_arena_each_page(walk_page, &walk);
    xp_huge_each(walk_huge, &walk);
    xp_sampled_walk_end();
}
