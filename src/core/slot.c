/* SPDX-License-Identifier: MIT */
/* slot.c - a record that is taken by exactly one and may be read by anyone at any time. */
#include "core/slot.h"

#include <string.h>

_Static_assert(sizeof(struct xp_record) == sizeof(uint64_t) * XP_RECORD_WORDS,
               "a record fills the words of its slot");
_Static_assert(offsetof(struct xp_record, size) == 0, "the first word is the size");

/* A record that changes under the reader this often will be seen by the next walk. */
#define READ_TRIES 64

static void store_words(struct xp_slot *slot, const struct xp_record *record)
{
    uint64_t words[XP_RECORD_WORDS];

    memcpy(words, record, sizeof(words));
    /* release: not before the state that said "no record here". */
    for (int i = 0; i < XP_RECORD_WORDS; i++)
        atomic_store_explicit(&slot->words[i], words[i], memory_order_release);
}

static void load_words(const struct xp_slot *slot, struct xp_record *ret_record)
{
    uint64_t words[XP_RECORD_WORDS];

    /* acquire: the state is looked at again after these. */
    for (int i = 0; i < XP_RECORD_WORDS; i++)
        words[i] = atomic_load_explicit(&slot->words[i], memory_order_acquire);
    memcpy(ret_record, words, sizeof(words));
}

void xp_slot_put(struct xp_slot *slot, const struct xp_record *record)
{
    uint64_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

    store_words(slot, record);
    /* release: pairs with the acquire in xp_slot_read() and xp_slot_take(). */
    atomic_store_explicit(&slot->state,
                          ((state & ~(uint64_t)XP_SLOT_FLAGS) + XP_SLOT_VERSION) | XP_SLOT_LIVE,
                          memory_order_release);
}

bool xp_slot_take(struct xp_slot *slot, struct xp_record *ret_record)
{
    uint64_t old =
        atomic_fetch_and_explicit(&slot->state, ~(uint64_t)XP_SLOT_FLAGS, memory_order_acq_rel);
    if (!(old & XP_SLOT_LIVE))
        return false;
    load_words(slot, ret_record);
    if (old & XP_SLOT_ASKED)
        ret_record->flags |= XP_RECORD_USABLE_ASKED;
    return true;
}

bool xp_slot_read(const struct xp_slot *slot, struct xp_record *ret_record)
{
    struct xp_record record;

    for (int i = 0; i < READ_TRIES; i++) {
        uint64_t before = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (!(before & XP_SLOT_LIVE))
            return false;
        if (before & XP_SLOT_WRITING)
            continue;
        load_words(slot, &record);
        if (atomic_load_explicit(&slot->state, memory_order_relaxed) != before)
            continue;
        if (before & XP_SLOT_ASKED)
            record.flags |= XP_RECORD_USABLE_ASKED;
        *ret_record = record;
        return true;
    }
    return false;
}

bool xp_slot_is_live(const struct xp_slot *slot)
{
    return atomic_load_explicit(&slot->state, memory_order_relaxed) & XP_SLOT_LIVE;
}

void xp_slot_ask(struct xp_slot *slot)
{
    atomic_fetch_or_explicit(&slot->state, XP_SLOT_ASKED, memory_order_relaxed);
}

void xp_slot_resize(struct xp_slot *slot, uint64_t size)
{
    struct xp_record record;

    /* acq_rel: what follows comes after the mark. */
    uint64_t state = atomic_fetch_or_explicit(&slot->state, XP_SLOT_WRITING, memory_order_acq_rel);
    load_words(slot, &record);
    /* A block that stays where it is changes by less than the step to the next class. */
    record.resized += (int32_t)(size - record.size);
    record.size = size;
    record.row_class = (uint16_t)xp_row_class(size);
    store_words(slot, &record);
    state |= XP_SLOT_WRITING;
    /* A loop, because xp_slot_ask() may come in between. */
    while (!atomic_compare_exchange_weak_explicit(
        &slot->state, &state, (state & ~(uint64_t)XP_SLOT_WRITING) + XP_SLOT_VERSION,
        memory_order_release, memory_order_relaxed))
        ;
}
