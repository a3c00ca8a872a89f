/* SPDX-License-Identifier: MIT */
/* lock.c - a small futex lock, and its order check. */
#include "base/lock.h"

#include <errno.h>

#include "base/os.h"
#include "base/panic.h"

#ifdef XP_LOCK_CHECK
/* One bit per rank held by this thread. Not in production builds: static TLS is scarce. */
static XP_TLS uint32_t ranks_held;

static void check_take(const struct xp_lock *lock, bool waits)
{
    if (waits && (ranks_held >> lock->rank) != 0)
        xp_panic("lock taken out of order, rank", lock->rank);
    ranks_held |= 1u << lock->rank;
}

static void check_give(const struct xp_lock *lock)
{
    ranks_held &= ~(1u << lock->rank);
}
#else
static void check_take(const struct xp_lock *lock, bool waits)
{
    (void)lock;
    (void)waits;
}

static void check_give(const struct xp_lock *lock)
{
    (void)lock;
}
#endif

static bool take_free(struct xp_lock *lock)
{
    uint32_t free_word = 0;

    /* acquire: pairs with the release in xp_lock_give(). */
    if (!atomic_compare_exchange_strong_explicit(&lock->word, &free_word, 1, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    atomic_store_explicit(&lock->owner, xp_thread_pointer(), memory_order_relaxed);
    return true;
}

bool xp_lock_try(struct xp_lock *lock)
{
    if (!take_free(lock))
        return false;
    check_take(lock, false);
    return true;
}

int xp_lock_take_bounded(struct xp_lock *lock, uint64_t timeout_ns)
{
    for (int spin = 0; spin < 64; spin++) {
        if (take_free(lock)) {
            check_take(lock, true);
            return 0;
        }
        xp_relax();
    }

    uint64_t end = timeout_ns ? xp_os_now_ns() + timeout_ns : 0;
    /* The word goes to 2 and stays there until the giver sees it: a sleeper may exist. */
    while (atomic_exchange_explicit(&lock->word, 2, memory_order_acquire) != 0) {
        uint64_t left = 0;
        if (timeout_ns) {
            uint64_t now = xp_os_now_ns();
            if (now >= end)
                return -ETIMEDOUT;
            left = end - now;
        }
        xp_os_futex_wait(&lock->word, 2, left);
    }
    atomic_store_explicit(&lock->owner, xp_thread_pointer(), memory_order_relaxed);
    check_take(lock, true);
    return 0;
}

void xp_lock_take(struct xp_lock *lock)
{
    xp_lock_take_bounded(lock, 0);
}

void xp_lock_give(struct xp_lock *lock)
{
    check_give(lock);
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) == 2)
        xp_os_futex_wake(&lock->word, 1);
}

bool xp_lock_mine(const struct xp_lock *lock)
{
    return atomic_load_explicit(&lock->owner, memory_order_relaxed) == xp_thread_pointer();
}

void xp_lock_reset(struct xp_lock *lock)
{
    if (xp_lock_mine(lock)) /* taken before the fork by the thread that forked */
        check_give(lock);
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
}
