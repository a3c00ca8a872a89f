/* SPDX-License-Identifier: MIT */
/* run.h - is the library itself the program that runs?
 *
 * Layer preload. */
#ifndef XP_PRELOAD_RUN_H
#define XP_PRELOAD_RUN_H

/* The entry point; absent in the static archive. */
extern const char xp_run_entry[] __attribute__((weak, visibility("hidden")));

#endif
