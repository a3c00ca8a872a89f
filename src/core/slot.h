/* SPDX-License-Identifier: MIT */
/* slot.h - a record that is taken by exactly one and may be read by anyone at any time.
 *
 * Layer core. The state word holds a version; writers are those who own the block. Readers copy
 * and compare the version. The words are stored with release and loaded with acquire order instead
 * of fences (which the thread sanitizer does not know); on x86-64 both are plain moves. */
#ifndef XP_CORE_SLOT_H
#define XP_CORE_SLOT_H

#include "core/heap.h"
#include "core/page.h"

#define XP_SLOT_LIVE    1u
#define XP_SLOT_ASKED   2u
#define XP_SLOT_WRITING 4u
#define XP_SLOT_VERSION 256u
#define XP_SLOT_FLAGS   (XP_SLOT_VERSION - 1)

/* The slot holds no live record and nobody else writes to it. */
void xp_slot_put(struct xp_slot *slot, const struct xp_record *record);

/* Ends the record's life; false when it had none: only one of several callers gets it. */
bool xp_slot_take(struct xp_slot *slot, struct xp_record *ret_record);

/* A copy as it was at one moment; false when there is no live record. */
bool xp_slot_read(const struct xp_slot *slot, struct xp_record *ret_record);

bool xp_slot_is_live(const struct xp_slot *slot);
void xp_slot_ask(struct xp_slot *slot);
void xp_slot_resize(struct xp_slot *slot, uint64_t size);

#endif
