/* SPDX-License-Identifier: MIT */
/* flow.h - the life of a block past the fast paths: sampled or not, ours or not.
 *
 * Layer preload; uses all layers. Nothing here sets errno, and nothing changes it. */
#ifndef XP_PRELOAD_FLOW_H
#define XP_PRELOAD_FLOW_H

#include "base/compiler.h"
#include "preload/entry.h"

/* NULL when there is no memory. align as in xp_heap_alloc_slow(); flags XP_ALLOC_ZERO. */
void *xp_flow_alloc(size_t size, size_t align, unsigned flags, const struct xp_call *call);

/* p is not NULL. */
void xp_flow_free(void *p);

/* p is not NULL, new_size not 0. NULL when there is no memory; p is untouched then. */
void *xp_flow_realloc(void *p, size_t new_size, const struct xp_call *call);

/* p is not NULL. */
size_t xp_flow_usable_size(void *p);

#endif
