/* SPDX-License-Identifier: MIT */
/* fork.h - a child is recognised even when no handler ran in it.
 *
 * Layer core; the handlers themselves are declared in core/heap.h. */
#ifndef XP_CORE_FORK_H
#define XP_CORE_FORK_H

#include "base/compiler.h"

void xp_fork_init(void);

/* True in a child made by a raw clone, until xp_fork_catch_up(). */
bool xp_fork_was_missed(void);
void xp_fork_catch_up(void);

#endif
