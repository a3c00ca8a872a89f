/* SPDX-License-Identifier: MIT */
/* limits.h - what we may take: address space, and time at a lock.
 *
 * Layer core. */
#ifndef XP_CORE_LIMITS_H
#define XP_CORE_LIMITS_H

#include "base/lock.h"

/* Waits longer than this are given up: the holder may have left by siglongjmp. */
#define XP_WAIT_NS ((uint64_t)100 * 1000 * 1000)

/* Takes the lock, or -ETIMEDOUT after XP_WAIT_NS, or -EDEADLK at once when this thread holds it
 * already. A lock that somebody waited for in vain is only tried by the others until its holder
 * gives it: a frame that vanished costs the process one wait, not one per call. The lock is never
 * broken by force, since a holder that merely sleeps would come back into its own ruins; the
 * holder's thread gives it when it next comes by (core/slow.c). */
int xp_limits_lock(struct xp_lock *lock);

/* A small share of the limit: the program wants it for itself, and stacks of threads count too. */
#define XP_FAIR_SHARE 8

/* The most a single reservation should take under RLIMIT_AS; 0 when there is no limit. */
size_t xp_limits_fair_reservation(void);

/* A further limit; 0: none. */
void xp_limits_set(uint64_t limit);

/* The heap limit: blocks together take at most so many bytes; 0: no limit. Set once, before
 * threads. */
void xp_limits_set_heap(size_t bytes);
/* False: size more bytes would pass it. Counted. */
bool xp_limits_heap_allows(size_t size);
uint64_t xp_limits_refused(void);
/* If something was refused and nothing was said about it yet: one message. No lock is held. */
void xp_limits_say_refused(void);

/* How many waits were given up. */
uint64_t xp_limits_timeouts(void);

#endif
