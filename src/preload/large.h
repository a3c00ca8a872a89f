/* SPDX-License-Identifier: MIT */
/* large.h - says where very large blocks are asked for.
 *
 * Layer preload; uses capture, core, base. No malloc and no lock. */
#ifndef XP_PRELOAD_LARGE_H
#define XP_PRELOAD_LARGE_H

#include "base/compiler.h"
#include "preload/entry.h"

/* From which size on; UINT64_MAX: never. Grows with each report. */
extern XP_HIDDEN _Atomic uint64_t xp_large_limit;

/* limit: bytes, 0 for never. Once, before the first call below. */
void xp_large_init(uint64_t limit);

/* Prints, unless somebody else does for this limit. block may be NULL: there was no memory. */
void xp_large_report(const void *block, size_t size, const struct xp_call *call);

/* The program asked for size bytes by call and got block. */
XP_ALWAYS_INLINE void xp_large_look(const void *block, size_t size, const struct xp_call *call)
{
    if (XP_UNLIKELY(size >= atomic_load_explicit(&xp_large_limit, memory_order_relaxed)))
        xp_large_report(block, size, call);
}

#endif
