/* SPDX-License-Identifier: MIT */
/* own.h - the addresses of our own functions, whoever won their names.
 *
 * Layer preload. */
#ifndef XP_PRELOAD_OWN_H
#define XP_PRELOAD_OWN_H

#include "base/compiler.h"

uintptr_t xp_own_malloc(void);

/* Calls fn for each function of libc's that makes, changes, measures or frees blocks. */
void xp_own_each(void (*fn)(const char *name, uintptr_t address, void *arg), void *arg);

#endif
