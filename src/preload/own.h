/* SPDX-License-Identifier: MIT */
/* own.h - the address of our own malloc, whoever won the name.
 *
 * Layer preload. */
#ifndef XP_PRELOAD_OWN_H
#define XP_PRELOAD_OWN_H

#include "base/compiler.h"

uintptr_t xp_own_malloc(void);

#endif
