/* SPDX-License-Identifier: MIT */
/* purge.h - free memory goes back to the system: by age, by amount, in steps, under a budget.
 *
 * Layer core. No lock is held while the kernel works. Called from slow paths only, never from a
 * signal handler that interrupted one. */
#ifndef XP_CORE_PURGE_H
#define XP_CORE_PURGE_H

#include "core/heap.h"

void xp_purge_init(const struct xp_core_options *options);

/* One step if it is time or there is too much; else a few loads. */
void xp_purge_if_due(void);

/* How long a thread that does nothing but purge may sleep now; 0: for ever. */
uint64_t xp_purge_pause_ns(void);

/* Everything that is free. True if anything went. */
bool xp_purge_all(void);

/* The most that one step should take, ns of CPU time. */
#define XP_PURGE_STEP_NS ((uint64_t)150 * 1000)

/* For others who give memory back: one step at a time in the process. False: not now, because
 * somebody is at it or the budget is spent (then it is counted as held back, unless must). Else
 * xp_purge_end(). */
bool xp_purge_begin(uint64_t now_ns, bool must);
/* madvise(MADV_DONTNEED), measured and counted. More than once within a step, as long as
 * xp_purge_has_time() says so. */
bool xp_purge_drop(void *start, size_t size);
/* True while another piece of size bytes fits into the step. */
bool xp_purge_has_time(size_t size);
void xp_purge_end(void);

/* How long free memory is kept, ns; longer while what went is wanted back soon. 0: it never goes by
 * itself. */
uint64_t xp_purge_delay_ns(void);
/* How many bytes more may be kept, in caches of mappings for example. */
size_t xp_purge_room(void);

struct xp_purge_stats {
    uint64_t calls, bytes, ns, longest_ns, held_back;
};
void xp_purge_stats_get(struct xp_purge_stats *ret_stats);

#endif
