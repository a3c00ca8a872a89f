/* SPDX-License-Identifier: MIT */
/* start.h - from nothing to a working allocator, and who is in charge.
 *
 * Layer preload. The first slow path of the process starts us, long before any constructor runs;
 * the constructor does what needs a whole C library. */
#ifndef XP_PRELOAD_START_H
#define XP_PRELOAD_START_H

#include "base/compiler.h"

enum xp_mode {
    XP_MODE_NEW,       /* nothing has happened yet */
    XP_MODE_STARTING,  /* the first slow path reads the options */
    XP_MODE_UNDECIDED, /* somebody else may own malloc: blocks are ours, nothing is sampled */
    XP_MODE_OWN,       /* the usual case */
    XP_MODE_PASS,      /* another malloc won: we forward to it, and profile nothing */
};

extern _Atomic uint32_t xp_mode_word; /* enum xp_mode; release in start.c */

XP_ALWAYS_INLINE enum xp_mode xp_mode(void)
{
    return (enum xp_mode)atomic_load_explicit(&xp_mode_word, memory_order_acquire);
}

/* Starts if nobody has; the mode from now on. Prints. errno is kept. */
enum xp_mode xp_start(void);

#endif
