/* SPDX-License-Identifier: MIT */
/* slices.h - what arena.c and slices.c tell each other.
 *
 * Layer core. All of it under xp_arena_lock, if nothing else is said. */
#ifndef XP_CORE_SLICES_H
#define XP_CORE_SLICES_H

#include "core/arena.h"

/* Takes xp_arena_lock, and gives back what waited for it. False: it cannot be had. */
bool xp_slices_lock(void);

/* The segment's addresses are gone: none of its slices is free, none is dirty. */
void xp_slices_forget_locked(struct xp_segment *segment);

/* One arena more, or addresses again for a vacant one. */
bool xp_arena_reserve_locked(struct xp_arena *vacant);
/* Commits the next slices of arena `index`: at least `wanted` if they end within the segment. */
bool xp_arena_commit_locked(uint32_t index, uint32_t wanted);

/* Arenas so far, vacant ones too. Lock-free. */
uint32_t xp_arena_count(void);

#endif
