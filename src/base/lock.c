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

/* Written by whoever waited, which is rare, or there would be more to repair than the counting. */
static struct {
    _Atomic uint64_t count, ns;
} waits[XP_RANKS];

void xp_lock_waits_get(enum xp_lock_rank rank, struct xp_lock_waits *ret_waits)
{
    ret_waits->count = atomic_load_explicit(&waits[rank].count, memory_order_relaxed);
    ret_waits->ns = atomic_load_explicit(&waits[rank].ns, memory_order_relaxed);
}

static bool take_spinning(struct xp_lock *lock)
{
    for (int spin = 0; spin < 64; spin++) {
        xp_relax();
        if (take_free(lock, 0))
            return true;
    }
    return false;
}

static int take_sleeping(struct xp_lock *lock, uint64_t start, uint64_t timeout_ns)
{
    /* Whoever has slept takes the lock with the mark of sleepers: there may be more. */
    while (!take_free(lock, SLEEPERS)) {
        uint32_t word = atomic_load_explicit(&lock->word, memory_order_relaxed);
        if (word == 0 || (!(word & SLEEPERS) && !atomic_compare_exchange_weak_explicit(
                                                    &lock->word, &word, word | SLEEPERS,
                                                    memory_order_relaxed, memory_order_relaxed)))
            continue;
        uint64_t left = 0;
        if (timeout_ns) {
            uint64_t waited = xp_os_now_ns() - start;
            if (waited >= timeout_ns)
                return -ETIMEDOUT;
            left = timeout_ns - waited;
        }
        xp_os_futex_wait(&lock->word, word | SLEEPERS, left);
    }
    return 0;
}

static XP_NOINLINE int take_slow(struct xp_lock *lock, uint64_t timeout_ns)
{
    int r = 0;

    if (!take_spinning(lock)) {
        uint64_t start = xp_os_now_ns();
        r = take_sleeping(lock, start, timeout_ns);
        atomic_fetch_add_explicit(&waits[lock->rank].ns, xp_os_now_ns() - start,
                                  memory_order_relaxed);
    }
    atomic_fetch_add_explicit(&waits[lock->rank].count, 1, memory_order_relaxed);
    return r;
}

int xp_lock_take_bounded(struct xp_lock *lock, uint64_t timeout_ns)
{
    int r = XP_LIKELY(take_free(lock, 0)) ? 0 : take_slow(lock, timeout_ns);

    if (r == 0)
        check_take(lock, true);
    return r;
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
