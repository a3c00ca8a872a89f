/* SPDX-License-Identifier: MIT */
/* helper.h - dumps that no allocation asks for: the clock and a signal.
 *
 * Layer preload; uses profile. They need a thread of ours, and nothing else does: a process without
 * them has no thread that it did not make. */
#ifndef XP_PRELOAD_HELPER_H
#define XP_PRELOAD_HELPER_H

#include "base/compiler.h"

/* From the constructor. Prints. */
void xp_helper_init(void);

/* Something waits for a slow path that is safe: see xp_helper_serve(). */
extern _Atomic bool xp_helper_waiting;

/* At the end of a slow path, no lock held, not nested: makes the thread anew in a forked child, or
 * writes the dump itself where there can be no thread. Prints. errno is kept. */
void xp_helper_serve(void);

void xp_helper_fork_child(void);

#endif
