/* SPDX-License-Identifier: MIT */
/* reference.h - libunwind, as a witness.
 *
 * Layer capture, internal. Slow, takes the loader's lock, not for signal handlers that may have
 * interrupted it: for verification and for who asks for it. errno is kept. */
#ifndef XP_CAPTURE_REFERENCE_H
#define XP_CAPTURE_REFERENCE_H

#include "capture/capture.h"

/* 0, or -ENOENT. */
int xp_reference_open(void);
bool xp_reference_is_open(void);

/* The frames from regs->pc outwards, at most max; interrupted pcs are one higher, as in tree.h.
 * *ret_cut: there were more. */
size_t xp_reference_walk(const struct xp_regs *regs, uintptr_t *pcs, size_t max, bool *ret_cut);

#endif
