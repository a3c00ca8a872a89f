/* SPDX-License-Identifier: MIT */
/* stats.h - counters that have no heap to live in.
 *
 * Layer core. */
#ifndef XP_CORE_STATS_H
#define XP_CORE_STATS_H

#include "base/compiler.h"

extern _Atomic uint64_t xp_invalid_frees;
extern _Atomic uint64_t xp_populate_calls, xp_populate_bytes; /* core/page.c */
extern _Atomic uint64_t xp_headless_frees; /* by threads without a heap, or by handlers */

#endif
