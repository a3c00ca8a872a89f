/* SPDX-License-Identifier: MIT */
/* remote.h - frees in pages of other heaps: one by one, or in batches.
 *
 * Layer core. What the fast path needs of it is declared in core/fast.h. */
#ifndef XP_CORE_REMOTE_H
#define XP_CORE_REMOTE_H

#include "core/heap.h"
#include "core/state.h"

/* Frees a small or medium block of a page that is not the caller's, by itself. The front is the
 * calling thread's. */
void xp_remote_send(struct xp_front *front, struct xp_page *page, void *block);

/* The batch of a heap goes to its page. The caller is inside a slow path of the heap. */
void xp_remote_flush(struct xp_heap *heap);

#endif
