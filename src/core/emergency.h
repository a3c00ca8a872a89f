/* SPDX-License-Identifier: MIT */
/* emergency.h - blocks for those who cannot use a heap: signal handlers inside a slow path, threads
 * that waited in vain for a lock.
 *
 * Layer core. Lock-free; nothing here is ever sampled. A few chunks, each with a bump pointer that
 * goes back to the start when the last block of the chunk is freed. */
#ifndef XP_CORE_EMERGENCY_H
#define XP_CORE_EMERGENCY_H

#include "core/heap.h"

/* A block with garbage in it, or NULL. */
void *xp_emergency_alloc(size_t size, size_t align);

/* True when p lies in a chunk. */
bool xp_emergency_owns(const void *p);

/* p lies in a chunk. False: it is not a live block. */
bool xp_emergency_free(void *p);
/* Usable bytes of a live block, 0 for anything else. */
size_t xp_emergency_usable(const void *p);

#endif
