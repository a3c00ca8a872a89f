/* SPDX-License-Identifier: MIT */
/* limits.c - what we may take: address space, and time at a lock. */
#include "core/limits.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/message.h"
#include "base/os.h"
#include "core/arena.h"
#include "core/huge.h"

static struct {
    _Atomic bool suspect[XP_RANKS]; /* somebody waited in vain since the lock was last taken */
    _Atomic uint64_t timeouts;
    _Atomic uint64_t further; /* limit beside RLIMIT_AS; 0: none */
    size_t heap;              /* 0: none */
    _Atomic uint64_t refused;
    _Atomic bool said;
} state;

int xp_limits_lock(struct xp_lock *lock)
{
    _Atomic bool *suspect = &state.suspect[lock->rank];

    if (xp_lock_mine(lock))
        return -EDEADLK;
    if (XP_UNLIKELY(atomic_load_explicit(suspect, memory_order_relaxed))) {
        if (!xp_lock_try(lock))
            return -ETIMEDOUT;
        atomic_store_explicit(suspect, false, memory_order_relaxed);
        return 0;
    }
    int r = xp_lock_take_bounded(lock, XP_WAIT_NS);
    if (XP_UNLIKELY(r < 0)) {
        atomic_store_explicit(suspect, true, memory_order_relaxed);
        atomic_fetch_add_explicit(&state.timeouts, 1, memory_order_relaxed);
    }
    return r;
}

size_t xp_limits_fair_reservation(void)
{
    struct rlimit64 limit;
    uint64_t further = atomic_load_explicit(&state.further, memory_order_relaxed);

    if (xp_os_getrlimit(RLIMIT_AS, &limit) < 0)
        limit.rlim_cur = RLIM64_INFINITY;
    if (further && further < limit.rlim_cur)
        limit.rlim_cur = further;
    return limit.rlim_cur == RLIM64_INFINITY ? 0 : limit.rlim_cur / XP_FAIR_SHARE;
}

void xp_limits_set(uint64_t limit)
{
    atomic_store_explicit(&state.further, limit, memory_order_relaxed);
}

void xp_limits_set_heap(size_t bytes)
{
    state.heap = bytes;
}

bool xp_limits_heap_allows(size_t size)
{
    if (XP_LIKELY(state.heap == 0))
        return true;
    size_t used = atomic_load_explicit(&xp_arena_stats.used_slices, memory_order_relaxed);
    used = (used << XP_SLICE_SHIFT) + xp_huge_bytes();
    if (used <= state.heap && size <= state.heap - used)
        return true;
    atomic_fetch_add_explicit(&state.refused, 1, memory_order_relaxed);
    return false;
}

uint64_t xp_limits_refused(void)
{
    return atomic_load_explicit(&state.refused, memory_order_relaxed);
}

void xp_limits_say_refused(void)
{
    struct xp_message m;

    if (XP_LIKELY(xp_limits_refused() == 0) ||
        atomic_exchange_explicit(&state.said, true, memory_order_relaxed))
        return;
    xp_message_begin(&m);
    xp_out_text(&m.out, "libxprof: the heap limit of ");
    xp_out_unsigned(&m.out, state.heap >> 20, 0);
    xp_out_text(&m.out, " MiB is reached: allocations fail from here on");
    xp_message_end(&m);
}

uint64_t xp_limits_timeouts(void)
{
    return atomic_load_explicit(&state.timeouts, memory_order_relaxed);
}
