/* SPDX-License-Identifier: MIT */
/* meta.h - memory for ourselves: never the program's heap.
 *
 * Layer base. Lock: XP_RANK_META (leaf but for messages). All memory arrives zeroed. Everything
 * handed out here lies in ranges that xp_meta_each() names, so that the leak check can leave us
 * out of its roots. Also for signal handlers: they come only when no lock of this is held. */
#ifndef XP_BASE_META_H
#define XP_BASE_META_H

#include "base/compiler.h"
#include "base/lock.h"

/* size bytes, aligned to align (a power of two <= XP_OS_PAGE), never given back. NULL when the
 * system has no memory, when the lock cannot be had within 100 ms, and at once when the calling
 * thread has it, being about to fork. */
void *xp_meta_alloc(size_t size, size_t align);

/* A mapping of its own, rounded up to whole OS pages; NULL as above. */
void *xp_meta_map(size_t size);
void xp_meta_unmap(void *start, size_t size);

/* A word that is 1 here and 0 in each forked child, whoever made it and whether or not fork
 * handlers ran there; who notices writes 1 again. In a vfork child, which runs in its parent's
 * memory, it stays 1. NULL without memory, and on kernels that cannot do that (before 4.14). */
_Atomic uint32_t *xp_meta_fork_word(void);

/* Many things of one size; put ones are taken again first. */
struct xp_pool {
    struct xp_lock lock;
    uint32_t item_size; /* bytes, >= 8; items are aligned to 16 */
    void *free;         /* chain through the first word */
};

#define XP_POOL_INIT(rank, size)                                                                   \
    {                                                                                              \
        XP_LOCK_INIT(rank), (size), NULL                                                           \
    }

/* Zeroed when new; a recycled item keeps its bytes but the first 8. NULL as from xp_meta_alloc();
 * an item that cannot be put for want of the lock is lost. */
void *xp_pool_take(struct xp_pool *pool);
void xp_pool_put(struct xp_pool *pool, void *item);

/* Calls fn for every range of ours. The lock is held: fn must not come back here. */
void xp_meta_each(void (*fn)(uintptr_t start, size_t size, void *arg), void *arg);

/* Bytes mapped now. */
size_t xp_meta_bytes(void);

/* Fork: prepare takes the lock, parent gives it, child makes it free again. */
void xp_meta_fork_prepare(void);
void xp_meta_fork_parent(void);
void xp_meta_fork_child(void);

#endif
