/* SPDX-License-Identifier: MIT */
/* walk.h - from one frame to the next, never reading what may not be there.
 *
 * Layer capture, internal. */
#ifndef XP_CAPTURE_WALK_H
#define XP_CAPTURE_WALK_H

#include "capture/capture.h"

struct xp_walk_result {
    size_t count;
    size_t certain; /* frames up to the first guess */
    bool exact;     /* no guess was tried and nothing was wrong */
    size_t misses;  /* rules that were not in the cache */
    unsigned flags; /* enum xp_capture_flags */
};

/* Frames from regs->pc outwards into pcs[max], max >= 1; interrupted pcs are one higher. */
void xp_walk(struct xp_capture_thread *thread, const struct xp_regs *regs, uintptr_t *pcs,
             size_t max, struct xp_walk_result *ret_result);

/* Once: where the main thread's stack begins. */
void xp_walk_init(void);

#endif
