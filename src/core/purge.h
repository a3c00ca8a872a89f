/* SPDX-License-Identifier: MIT */
/* purge.h - free memory goes back to the system: by age, by amount, in steps, under a budget.
 *
 * Layer core. No lock is held while the kernel works. Called from slow paths only, never from a
 * signal handler that interrupted one. */
#ifndef XP_CORE_PURGE_H
#define XP_CORE_PURGE_H

#include "core/heap.h"

void xp_purge_init(const struct xp_core_options *options);

/* One step if it is time or there is too much; else a few loads. now_ns: coarse clock. */
void xp_purge_if_due(uint64_t now_ns);

/* How long a thread that does nothing but purge may sleep now; 0: for ever. */
uint64_t xp_purge_pause_ns(void);

/* Everything that is free. True if anything went. */
bool xp_purge_all(void);

struct xp_purge_stats {
    uint64_t calls, bytes, ns, longest_ns, held_back;
};
void xp_purge_stats_get(struct xp_purge_stats *ret_stats);

#endif
