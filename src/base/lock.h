/* SPDX-License-Identifier: MIT */
/* lock.h - a small futex lock, and the one list that says in which order locks are taken.
 *
 * Layer base. No malloc. A lock of zero bytes and a rank is a free lock: static ones need no
 * start-up. Not re-entrant, and a signal handler may find its own thread inside: whoever can be
 * reached from malloc asks xp_lock_mine() first. */
#ifndef XP_BASE_LOCK_H
#define XP_BASE_LOCK_H

#include "base/compiler.h"

/* A thread that holds a lock takes only locks of a higher rank. Upper layers are named here,
 * and nowhere else in base. Checked in builds with XP_LOCK_CHECK. */
enum xp_lock_rank {
    XP_RANK_DUMP = 1, /* profile: one dump at a time */
    XP_RANK_PROFILE,  /* profile: cumulative sums, one of its shards */
    XP_RANK_MODULES,  /* capture: module history */
    XP_RANK_THREADS,  /* preload: structs of threads */
    XP_RANK_REGISTRY, /* core: list of heaps */
    XP_RANK_RESTING,  /* core: heaps whose thread is gone */
    XP_RANK_FALLBACK, /* core: the heap for callers that have none */
    XP_RANK_SAMPLED,  /* core: a shard of sampled pages */
    XP_RANK_HUGE,     /* core: table of huge blocks */
    XP_RANK_SEGMENT,  /* core: slices of the segments */
    XP_RANK_META,     /* base: memory for ourselves */
    XP_RANKS
};

struct xp_lock {
    /* 0: free; else bits of the holder's thread pointer, and 1 when somebody may sleep. Who takes
     * the lock is known by the same store: a handler may leave by siglongjmp after any. */
    _Atomic uint32_t word;
    uint32_t rank; /* enum xp_lock_rank */
    _Atomic uintptr_t
        owner; /* thread pointer of the holder; 0 when free, or about to be so or not */
};

#define XP_LOCK_INIT(lock_rank)                                                                    \
    {                                                                                              \
        0, (lock_rank), 0                                                                          \
    }

void xp_lock_take(struct xp_lock *lock);
bool xp_lock_try(struct xp_lock *lock);
/* Waits at most timeout_ns; 0 or -ETIMEDOUT. */
int xp_lock_take_bounded(struct xp_lock *lock, uint64_t timeout_ns);
void xp_lock_give(struct xp_lock *lock);

/* The same with all signals of the thread blocked until it is given back: no handler finds the lock
 * taken by its own thread, forks with it, or leaves it behind by siglongjmp. *ret_signals is for
 * xp_lock_give_restore() alone. */
void xp_lock_take_masked(struct xp_lock *lock, uint64_t *ret_signals);
void xp_lock_give_restore(struct xp_lock *lock, const uint64_t *signals);

/* True when the calling thread holds the lock (a signal handler over it included). */
bool xp_lock_mine(const struct xp_lock *lock);

/* What was lost by waiting for the locks of a rank since the start. Also right in signal handlers.
 */
struct xp_lock_waits {
    uint64_t count; /* takes that did not get the lock at once */
    uint64_t ns;    /* time from when such a take stopped trying (after about 2 us) to its end */
};
void xp_lock_waits_get(enum xp_lock_rank rank, struct xp_lock_waits *ret_waits);

/* In a forked child, where the holder no longer exists: a free lock again. */
void xp_lock_reset(struct xp_lock *lock);

#endif
