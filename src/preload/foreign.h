/* SPDX-License-Identifier: MIT */
/* foreign.h - blocks that are not ours, and programs that want none of ours.
 *
 * Layer preload. */
#ifndef XP_PRELOAD_FOREIGN_H
#define XP_PRELOAD_FOREIGN_H

#include "base/compiler.h"

/* Could another malloc have won the lookup of that name, or does the program carry a sanitizer?
 * Looks at relocations only: for the first slow path. */
bool xp_foreign_suspected(void);

/* From the constructor, when suspected: is it true? If so, finds the functions to forward to. */
bool xp_foreign_decide(void);
/* Says who won. Prints. */
void xp_foreign_explain(void);

/* XP_MODE_PASS. Blocks that we handed out before we knew are still taken back. */
void *xp_pass_alloc(size_t size, size_t align, bool zero);
void *xp_pass_realloc(void *p, size_t new_size);
void xp_pass_free(void *p);
size_t xp_pass_usable_size(void *p);

/* Where the brk heap starts: in the first slow path. We never move brk; libc's own malloc does. */
void xp_foreign_init(void);

/* The policy for pointers that no range of ours holds: blocks of libc's own malloc go back to it
 * (libraries opened with RTLD_DEEPBIND use it), anything else is counted and let be. Prints the
 * first few. errno is kept. */
void xp_foreign_free(void *p);
/* NULL when it cannot be done; p is untouched then. Prints the first few. */
void *xp_foreign_realloc(void *p, size_t new_size);
size_t xp_foreign_usable_size(void *p);

/* A pointer into our memory that is no live block. Prints the first few; aborts on XPROF_STRICT. */
void xp_foreign_invalid(void *p);

#endif
