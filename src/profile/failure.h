/* SPDX-License-Identifier: MIT */
/* failure.h - says once for each cause why a dump failed, and what to do.
 *
 * Layer profile; uses base. The caller holds XP_RANK_DUMP. */
#ifndef XP_PROFILE_FAILURE_H
#define XP_PROFILE_FAILURE_H

#include "base/compiler.h"

/* Prints one line for -errno error, unless that was the last word on it already. */
void xp_failure_report(const char *path, int error);
/* A dump went well: the next failure is news again. */
void xp_failure_forget(void);

#endif
