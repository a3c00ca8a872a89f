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

#define SLEEPERS 1u

/* Thread pointers are multiples of 64, so that bit 0 is free. Two threads may share these bits. */
static uint32_t my_bits(void)
{
    uint32_t bits = (uint32_t)(xp_thread_pointer() >> 5) & ~SLEEPERS;
    return bits ? bits : 2;
}

static bool take_free(struct xp_lock *lock, uint32_t sleepers)
{
    uint32_t free_word = 0;

    /* acquire: pairs with the release in xp_lock_give(). */
    if (!atomic_compare_exchange_strong_explicit(&lock->word, &free_word, my_bits() | sleepers,
                                                 memory_order_acquire, memory_order_relaxed))
        return false;
    atomic_store_explicit(&lock->owner, xp_thread_pointer(), memory_order_relaxed);
    return true;
}

bool xp_lock_try(struct xp_lock *lock)
{
    if (!take_free(lock, 0))
        return false;
    check_take(lock, false);
    return true;
}

int xp_lock_take_bounded(struct xp_lock *lock, uint64_t timeout_ns)
{
    for (int spin = 0; spin < 64; spin++) {
        if (take_free(lock, 0)) {
            check_take(lock, true);
            return 0;
        }
        xp_relax();
    }

    uint64_t end = timeout_ns ? xp_os_now_ns() + timeout_ns : 0;
    /* Whoever has slept takes the lock with the mark of sleepers: there may be more. */
    while (!take_free(lock, SLEEPERS)) {
        uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (word == 0 || (!(word & SLEEPERS) && !atomic_compare_exchange_weak_explicit(
                                                    &lock->word, &word, word | SLEEPERS,
                                                    memory_order_relaxed, memory_order_relaxed)))
            continue;
        uint64_t left = 0;
        if (timeout_ns) {
            uint64_t now = xp_os_now_ns();
            if (now >= end)
                return -ETIMEDOUT;
            left = end - now;
        }
        xp_os_futex_wait(&lock->word, word | SLEEPERS, left);
    }
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
    if (atomic_exchange_explicit(&lock->word, 0, memory_order_release) & SLEEPERS)
        xp_os_futex_wake(&lock->word, 1);
}

void xp_lock_take_masked(struct xp_lock *lock, uint64_t *ret_signals)
{
    xp_os_block_signals(ret_signals);
    xp_lock_take(lock);
}

void xp_lock_give_restore(struct xp_lock *lock, const uint64_t *signals)
{
    xp_lock_give(lock);
    xp_os_restore_signals(signals);
}

bool xp_lock_mine(const struct xp_lock *lock)
{
    uintptr_t owner = atomic_load_explicit(&lock->owner, memory_order_relaxed);

    if (owner)
        return owner == xp_thread_pointer();
    /* Free, or between two stores of its holder. */
    return (atomic_load_explicit(&lock->word, memory_order_relaxed) & ~SLEEPERS) == my_bits();
}

void xp_lock_reset(struct xp_lock *lock)
{
    if (xp_lock_mine(lock)) /* taken before the fork by the thread that forked */
        check_give(lock);
    atomic_store_explicit(&lock->owner, 0, memory_order_relaxed);
    atomic_store_explicit(&lock->word, 0, memory_order_relaxed);
}
