/* SPDX-License-Identifier: MIT */
/* stats.h - all counters of the library, written when the program ends.
 *
 * Layer preload; uses all below it. No locks: safe in a handler that interrupted a slow path. */
#ifndef XP_PRELOAD_STATS_H
#define XP_PRELOAD_STATS_H

#include "base/compiler.h"

/* As XPROF_STATS says; once per process, then nothing. Prints. */
void xp_stats_write(void);
/* In a forked child: its end is another one. */
void xp_stats_fork_child(void);

#endif
