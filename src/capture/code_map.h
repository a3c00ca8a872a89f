/* SPDX-License-Identifier: MIT */
/* code_map.h - does an address outside of all modules hold code?
 *
 * Layer capture, internal. What just-in-time compilers make lies in executable mappings that only
 * the kernel knows. Lock-free; no system call for an address near one that was asked for before. */
#ifndef XP_CAPTURE_CODE_MAP_H
#define XP_CAPTURE_CODE_MAP_H

#include "base/compiler.h"

/* True when the address was in an executable mapping at the last look. New mappings may be found
 * late: the look costs a reading of /proc/self/maps, which is held under 2 % of the time. */
bool xp_code_map_has(uintptr_t address);

/* The looker may not exist in the child. */
void xp_code_map_fork_child(void);

#endif
