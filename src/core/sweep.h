/* SPDX-License-Identifier: MIT */
/* sweep.h - what heaps hold and do not use goes back to the arena, and from there to the system.
 *
 * Layer core. */
#ifndef XP_CORE_SWEEP_H
#define XP_CORE_SWEEP_H

#include "core/state.h"

/* At the end of slow paths, inside the gate. If it is time: idle lists and empty pages of the
 * caller's heap, then heaps of threads that sleep, then a step of the purge. Bounded; else a few
 * loads and a look at the coarse clock. */
void xp_sweep_if_due(struct xp_heap *heap);
/* The same from outside the gate. */
void xp_sweep(void);

#endif
