/* SPDX-License-Identifier: MIT */
/* locks.h - all locks of the layer in one list, for fork and for frames that vanished.
 *
 * Layer core. */
#ifndef XP_CORE_LOCKS_H
#define XP_CORE_LOCKS_H

#include "base/lock.h"

/* Around fork(), in the order of their ranks. Waits are bounded; a lock that this thread holds
 * already (fork in a signal handler) stays as it is. In the child, all locks are free again but
 * those of this thread. */
/* Takes lock by trying until end_ns (xp_os_now_ns()): fork may come from a handler over a slow path
 * that holds locks of any rank, and shards share a rank. False when this thread has it already, or
 * in time nobody gave it. */
bool xp_locks_take_until(struct xp_lock *lock, uint64_t end_ns);

void xp_locks_fork_prepare(void);
void xp_locks_fork_parent(void);
void xp_locks_fork_child(void);

/* Gives every lock that this thread holds: its frame is gone. */
void xp_locks_give_mine(void);

#endif
