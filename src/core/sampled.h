/* SPDX-License-Identifier: MIT */
/* sampled.h - pages in which every block has a record.
 *
 * Layer core. Locks: XP_RANK_SAMPLED, one per shard. Freeing takes the record by one atomic
 * operation and needs no lock; giving the block back does. */
#ifndef XP_CORE_SAMPLED_H
#define XP_CORE_SAMPLED_H

#include "base/lock.h"
#include "core/heap.h"
#include "core/page.h"

#define XP_SHARDS 64u /* all are used in exact mode, few otherwise */

/* A block of the class with a copy of the record; hint picks the shard. NULL without memory. */
void *xp_sampled_alloc(unsigned size_class, uint32_t hint, const struct xp_record *record);

/* The slot of the block that starts at p; NULL when none does. */
struct xp_slot *xp_sampled_slot(struct xp_page *page, const void *p);

/* The block goes back; its record was taken. later: no lock may be taken. */
void xp_sampled_release(struct xp_page *page, void *p, bool later);

/* Empty pages go back. The caller is inside a slow path. */
void xp_sampled_trim(void);

/* While somebody walks, no page of records becomes anything else. */
void xp_sampled_walk_begin(void);
void xp_sampled_walk_end(void);
void xp_sampled_each(struct xp_page *page,
                     void (*fn)(const struct xp_record *record, void *block, void *arg), void *arg);

struct xp_lock *xp_sampled_lock(unsigned shard);
/* The lock is held, and a frame that held it before vanished: its lists may be broken. */
void xp_sampled_distrust(unsigned shard);
void xp_sampled_fork_child(void);

#endif
