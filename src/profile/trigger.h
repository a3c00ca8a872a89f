/* SPDX-License-Identifier: MIT */
/* trigger.h - totals of all samples, and whether they ask for a dump.
 *
 * Layer profile; uses base. All but xp_trigger_take() is lock-free and signal safe. */
#ifndef XP_PROFILE_TRIGGER_H
#define XP_PROFILE_TRIGGER_H

#include "base/out.h"
#include "profile/profile.h"

/* Byte distances; 0 switches one off. Before the first note. */
void xp_trigger_init(uint64_t alloc_interval, uint64_t inuse_interval, uint64_t dealloc_interval);

void xp_trigger_note_alloc(double objects, double bytes);
void xp_trigger_note_free(double objects, double bytes);
void xp_trigger_totals(struct xp_profile_totals *ret_totals);

/* Cheap; may be late by a sixteenth of the least interval, never early but by samples that are
 * just being counted. */
bool xp_trigger_due(void);
/* With all samples counted: is a dump due? If so writes the reason and sets the marks for the next
 * one. One caller at a time. */
bool xp_trigger_take(struct xp_out *reason);

#endif
