/* SPDX-License-Identifier: MIT */
/* huge.h - blocks with a mapping of their own.
 *
 * Layer core. Lock: XP_RANK_HUGE, for changes of the table; finding is lock-free. */
#ifndef XP_CORE_HUGE_H
#define XP_CORE_HUGE_H

#include "base/lock.h"
#include "core/page.h"

struct xp_huge {
    _Atomic uintptr_t start;  /* of block and mapping */
    _Atomic size_t size;      /* mapped and usable bytes, whole OS pages */
    _Atomic uint32_t live;    /* 1 while the block is; the free that makes it 0 wins */
    _Atomic uint32_t sampled; /* its record is, or was, in the slot */
    struct xp_slot slot;
    struct xp_huge *next; /* spare ones; those to be freed later */
};

/* The block that starts at p, or NULL. */
struct xp_huge *xp_huge_find(const void *p);
/* True when p lies in any. Walks the table if p is not the start of one. */
bool xp_huge_owns(const void *p);

/* Zeroed. size > 0; align a power of two. NULL without memory or lock. */
struct xp_huge *xp_huge_create(size_t size, size_t align);
/* The same from a mapping that exists; size whole OS pages. */
struct xp_huge *xp_huge_adopt(void *start, size_t size);
/* Only the one who made live 0 calls this. later: no lock, for signal handlers. */
void xp_huge_destroy(struct xp_huge *huge, bool later);

/* Grows or shrinks the mapping, moving it if need be. 0, or -errno and nothing changed. */
int xp_huge_resize(struct xp_huge *huge, size_t size);

void xp_huge_each(void (*fn)(struct xp_huge *huge, void *arg), void *arg);
size_t xp_huge_bytes(void);

extern struct xp_lock xp_huge_lock;

#endif
