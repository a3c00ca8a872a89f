/* SPDX-License-Identifier: MIT */
/* real.h - the functions of the C library that ours stand in front of.
 *
 * Layer preload. Looked up by dlsym(RTLD_NEXT), which may allocate: all at once from the
 * constructor, or when a wrapper is called before it; never from a malloc or a free. */
#ifndef XP_PRELOAD_REAL_H
#define XP_PRELOAD_REAL_H

#include "base/compiler.h"

enum xp_real {
    XP_REAL_PTHREAD_CREATE,
    XP_REAL_DLCLOSE,
    XP_REAL_EXECV,
    XP_REAL_EXECVE,
    XP_REAL_EXECVP,
    XP_REAL_EXECVPE,
    XP_REAL_FEXECVE,
    XP_REAL_FREE, /* libc's own allocator, for blocks that it made behind our back */
    XP_REAL_REALLOC,
    XP_REAL_USABLE_SIZE,
    XP_REALS
};

void xp_real_init(void);

/* A function pointer of the wrapper's own type, to be cast; NULL if there is none. errno is kept.
 */
void *xp_real(enum xp_real which);

/* What xp_real() has found so far; never looks anything up. */
void *xp_real_known(enum xp_real which);

#endif
