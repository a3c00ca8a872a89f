/* SPDX-License-Identifier: MIT */
/* share.h - how much a heap may keep in its magazines when there is a limit for all.
 *
 * Layer core. The limit is divided evenly among the heaps that have a thread. Within a heap limits
 * begin at nothing; a class that is missed gets room, at first what is left, then what others have.
 */
#ifndef XP_CORE_SHARE_H
#define XP_CORE_SHARE_H

#include "core/heap.h"
#include "core/state.h"

/* False: no limit, and nothing is ever missed. Set once. */
extern XP_HIDDEN bool xp_share_limited;

void xp_share_init(const struct xp_core_options *options);
/* The limits of a new heap. */
void xp_share_start(struct xp_heap *heap);
/* There are more threads than before, or fewer. Under a limit it walks all heaps. */
void xp_share_divide(void);
/* The magazine of a medium class was found empty, or full. The caller is inside the gate. */
void xp_share_missed(struct xp_heap *heap, unsigned medium);

/* Bytes in the magazines of a heap, read from anywhere. */
size_t xp_share_cached(const struct xp_heap *heap);

#endif
