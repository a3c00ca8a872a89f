/* SPDX-License-Identifier: MIT */
/* sums.h - what was ever allocated, per call-tree node and size class.
 *
 * Layer profile; uses base. Adding to a row that exists is lock-free; a new row takes one of the
 * locks XP_RANK_PROFILE with all signals blocked. So a signal handler may add at any time, may
 * leave by siglongjmp, and a fork at any time finds every table whole. Memory: base/meta, never
 * given back. */
#ifndef XP_PROFILE_SUMS_H
#define XP_PROFILE_SUMS_H

#include "base/compiler.h"

/* *at += by, with the given order of the store. */
XP_ALWAYS_INLINE void xp_double_add(_Atomic double *at, double by, memory_order order)
{
    double old = atomic_load_explicit(at, memory_order_relaxed);

    while (!atomic_compare_exchange_weak_explicit(at, &old, old + by, order, memory_order_relaxed))
        ;
}

/* Which of 16 shards the calling thread adds to: threads seldom meet there. */
#define XP_PROFILE_SHARDS 16
XP_ALWAYS_INLINE unsigned xp_profile_shard(void)
{
    return (unsigned)((xp_thread_pointer() * 0x9e3779b97f4a7c15ull) >> 60);
}

/* Without memory for a new row the sum goes to [nested]: nothing is dropped. */
void xp_sums_add(uint32_t node, unsigned row_class, double objects, double bytes);

/* Rows of all shards together, an upper bound of the distinct ones. */
size_t xp_sums_count(void);
/* Calls fn for each row that exists at the time; the same (node, class) may come once per shard.
 * bytes > 0 comes with objects > 0 even while others add. Ends early when fn returns false. */
void xp_sums_each(bool (*fn)(uint32_t node, unsigned row_class, double objects, double bytes,
                             void *arg),
                  void *arg);
/* Samples that were added to [nested] for want of memory. */
uint64_t xp_sums_spared(void);

/* In a forked child: whoever was adding a row in another thread is gone. */
void xp_sums_fork_child(void);

#endif
