/* SPDX-License-Identifier: MIT */
/* verify.h - our stacks against libunwind's.
 *
 * Layer capture, internal. See xp_capture_differences() for what is remembered. */
#ifndef XP_CAPTURE_VERIFY_H
#define XP_CAPTURE_VERIFY_H

#include "capture/walk.h"

/* Compares pcs, what our walker found, up to its first guess. True when libunwind says the same. */
bool xp_verify(const struct xp_regs *regs, const uintptr_t *pcs,
               const struct xp_walk_result *result, size_t depth);

#endif
