/* SPDX-License-Identifier: MIT */
/* locks.c - all locks of the layer in one list, for fork and for frames that vanished. */
#include "core/locks.h"

#include "base/os.h"
#include "core/arena.h"
#include "core/huge.h"
#include "core/limits.h"
#include "core/sampled.h"
#include "core/slow.h"

#define LOCKS (4 + XP_SHARDS)

#define RESTING     0u
#define FALLBACK    1u
#define SHARD_FIRST 2u

static struct xp_lock *lock_at(unsigned i)
{
    if (i == RESTING)
        return &xp_resting_lock;
    if (i == FALLBACK)
        return &xp_fallback_lock;
    if (i < SHARD_FIRST + XP_SHARDS)
        return xp_sampled_lock(i - SHARD_FIRST);
    return i == SHARD_FIRST + XP_SHARDS ? &xp_huge_lock : &xp_arena_lock;
}

/* What the lock guards may be half done. The resting list, the table of huge blocks and the
 * segments are whole after every store; heaps and lists of pages are not, and are given up. */
static void distrust(unsigned i)
{
    if (i == FALLBACK)
        xp_slow_distrust_fallback();
    else if (i >= SHARD_FIRST && i < SHARD_FIRST + XP_SHARDS)
        xp_sampled_distrust(i - SHARD_FIRST);
}

/* Which locks xp_locks_fork_prepare() took; the forking thread's alone. */
static bool taken[LOCKS];

bool xp_locks_take_until(struct xp_lock *lock, uint64_t end_ns)
{
    if (xp_lock_mine(lock))
        return false;
    while (!xp_lock_try(lock)) {
        if (xp_os_now_ns() > end_ns)
            return false;
        xp_os_sleep_ns(20 * 1000);
    }
    return true;
}

void xp_locks_fork_prepare(void)
{
    uint64_t end = xp_os_now_ns() + XP_WAIT_NS;

    for (unsigned i = 0; i < LOCKS; i++)
        taken[i] = xp_locks_take_until(lock_at(i), end);
}

void xp_locks_fork_parent(void)
{
    for (unsigned i = LOCKS; i-- > 0;) {
        if (taken[i])
            xp_lock_give(lock_at(i));
        taken[i] = false;
    }
}

void xp_locks_fork_child(void)
{
    for (unsigned i = 0; i < LOCKS; i++) {
        struct xp_lock *lock = lock_at(i);
        if (taken[i])
            xp_lock_give(lock);
        else if (!xp_lock_mine(lock)) {
            if (atomic_load_explicit(&lock->word, memory_order_relaxed) != 0)
                distrust(i);
            xp_lock_reset(lock);
        }
        taken[i] = false;
    }
}

void xp_locks_give_mine(void)
{
    for (unsigned i = LOCKS; i-- > 0;) {
        struct xp_lock *lock = lock_at(i);
        if (!xp_lock_mine(lock))
            continue;
        distrust(i);
        xp_lock_give(lock);
    }
}
