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
void xp_locks_fork_prepare(void);
void xp_locks_fork_parent(void);
void xp_locks_fork_child(void);

/* Gives every lock that this thread holds: its frame is gone. */
void xp_locks_give_mine(void);

#endif
