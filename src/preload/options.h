/* SPDX-License-Identifier: MIT */
/* options.h - the environment, read once.
 *
 * Layer preload; uses base. The table in options.c is the only list of variables: libxprof(7) and
 * the tests are compared with it. Nothing else reads the environment. */
#ifndef XP_PRELOAD_OPTIONS_H
#define XP_PRELOAD_OPTIONS_H

#include <sys/types.h>

#include "base/compiler.h"
#include "base/out.h"

enum xp_option {
    XP_OPTION_PREFIX,
    XP_OPTION_USE_PID,
    XP_OPTION_ALLOC_INTERVAL,
    XP_OPTION_DEALLOC_INTERVAL,
    XP_OPTION_INUSE_INTERVAL,
    XP_OPTION_TIME_INTERVAL,
    XP_OPTION_SIGNAL,
    XP_OPTION_CLEANUP,
    XP_OPTION_MMAP,
    XP_OPTION_ONLY_MMAP,
    XP_OPTION_MMAP_LOG,
    XP_OPTION_VERBOSE,
    XP_OPTION_SAMPLE_BYTES,
    XP_OPTION_DEPTH,
    XP_OPTION_STACKS_MAX,
    XP_OPTION_UNWINDER,
    XP_OPTION_VERIFY,
    XP_OPTION_SEED,
    XP_OPTION_LOG,
    XP_OPTION_STRICT,
    XP_OPTION_DUMP_ON_EXEC,
    XP_OPTION_RESERVE,
    XP_OPTION_CACHE_MAX,
    XP_OPTION_PURGE_DELAY,
    XP_OPTION_DIRTY_MAX,
    XP_OPTION_BG_THREAD,
    XP_OPTION_THP,
    XP_OPTION_HEAP_LIMIT,
    XP_OPTION_LARGE_REPORT,
    XP_OPTION_LAYERS,
    XP_OPTION_STATS,
    XP_OPTION_FAULT,
    XP_OPTION_PROCESS,
    XP_OPTIONS
};

/* Reads the environment: environ, or /proc/self/environ when libc has none yet. In a program that
 * runs with raised rights everything stays at its default. Silent; texts are copied. */
void xp_options_init(void);

/* Says what was wrong with what was read: one line each. Prints. */
void xp_options_complain(void);

/* Numbers, sizes in bytes, flags (0, 1), choices (index) and what else value.h says. */
uint64_t xp_option(enum xp_option option);
int64_t xp_option_signed(enum xp_option option);
/* NULL when not set. Of XP_OPTION_STATS: the file, NULL for none. */
const char *xp_option_text(enum xp_option option);
bool xp_option_is_set(enum xp_option option);

/* Appends XPROF_PROCESS=pid to environ, for the children. From the constructor. */
void xp_options_mark_environment(pid_t pid);

/* One line of "NAME<tab>DEFAULT<tab>ACCEPTED<tab>HELP" per variable. */
void xp_options_print(struct xp_out *out);

#endif
