/* SPDX-License-Identifier: MIT */
/* free.c - the slow way back: whose block it is, and what may be asked about it. */
#include "core/heap.h"

#include "base/bits.h"
#include "core/arena.h"
#include "core/emergency.h"
#include "core/huge.h"
#include "core/large.h"
#include "core/remote.h"
#include "core/sampled.h"
#include "core/slot.h"
#include "core/slow.h"
#include "core/stats.h"
#include "core/sweep.h"

static enum xp_free_result invalid(void)
{
    atomic_fetch_add_explicit(&xp_invalid_frees, 1, memory_order_relaxed);
    return XP_FREE_INVALID;
}

/* Locks are taken inside the gate only, so that a handler can see it. */
static void large_done(struct xp_page *page)
{
    struct xp_slow slow;

    xp_slow_enter(&slow);
    xp_slices_give(page, false, slow.heap == NULL);
    if (slow.heap)
        xp_sweep_if_due(slow.heap);
    xp_slow_leave(&slow);
}

static enum xp_free_result free_large(struct xp_page *page, uintptr_t p,
                                      struct xp_record *ret_record)
{
    if (page->start != p)
        return invalid();
    if (page->flags & XP_PAGE_SAMPLED)
        return xp_slot_take(&page->slot, ret_record) ? XP_FREE_SAMPLED : invalid();
    if (!xp_large_claim(page))
        return invalid();
    large_done(page);
    return XP_FREE_DONE;
}

static bool claim_huge(struct xp_huge *huge)
{
    uint32_t live = 1;

    return atomic_compare_exchange_strong_explicit(&huge->live, &live, 0, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

static void huge_done(struct xp_huge *huge)
{
    struct xp_slow slow;

    xp_slow_enter(&slow);
    xp_huge_destroy(huge, slow.heap == NULL);
    xp_slow_leave(&slow);
}

static enum xp_free_result free_elsewhere(void *p, struct xp_record *ret_record)
{
    struct xp_huge *huge = xp_huge_find(p);

    if (!huge) {
        if (!xp_emergency_owns(p))
            return XP_FREE_FOREIGN;
        return xp_emergency_free(p) ? XP_FREE_DONE : invalid();
    }
    if (atomic_load_explicit(&huge->sampled, memory_order_relaxed))
        return xp_slot_take(&huge->slot, ret_record) ? XP_FREE_SAMPLED : invalid();
    if (!claim_huge(huge))
        return invalid();
    huge_done(huge);
    return XP_FREE_DONE;
}

/* A small or medium block. A page that is the thread's own, or nobody's, is worked on inside the
 * gate; all others take the block by one compare-and-swap. */
static void free_classed(struct xp_page *page, uintptr_t owner, void *p)
{
    struct xp_front *front = xp_tls_front;
    bool own = (owner & ~(uintptr_t)XP_OWNER_MEDIUM) == (uintptr_t)front;

    if (own || (owner == XP_OWNER_NOBODY && front->kind == XP_FRONT_HEAP)) {
        struct xp_slow slow;
        xp_slow_enter(&slow);
        if (slow.heap && !slow.fallback)
            xp_heap_free_block(slow.heap, page, p);
        else
            xp_heap_free_remote(page, p, p, 1, slow.heap == NULL);
        xp_slow_leave(&slow);
        return;
    }
    xp_remote_send(front, page, p);
}

enum xp_free_result xp_heap_free_slow(void *p, struct xp_record *ret_record)
{
    struct xp_page *page = xp_arena_page_of(p);

    if (!page)
        return free_elsewhere(p, ret_record);
    /* acquire: what the page is, is written before who owns it. */
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_acquire);
    if (owner == XP_OWNER_LARGE)
        return free_large(page, (uintptr_t)p, ret_record);
    if (owner == XP_OWNER_SAMPLED) {
        struct xp_slot *slot = xp_sampled_slot(page, p);
        return slot && xp_slot_take(slot, ret_record) ? XP_FREE_SAMPLED : invalid();
    }
    if (owner == XP_OWNER_NONE || owner == XP_OWNER_CLAIMED ||
        !xp_page_has_block(page, (uintptr_t)p))
        return invalid();
    free_classed(page, owner, p);
    return XP_FREE_DONE;
}

void xp_heap_release_sampled(void *p)
{
    struct xp_page *page = xp_arena_page_of(p);

    if (!page) {
        struct xp_huge *huge = xp_huge_find(p);
        if (huge && claim_huge(huge))
            huge_done(huge);
        return;
    }
    if (atomic_load_explicit(&page->owner, memory_order_acquire) == XP_OWNER_LARGE) {
        if (xp_large_claim(page))
            large_done(page);
        return;
    }
    struct xp_slow slow;
    xp_slow_enter(&slow);
    xp_sampled_release(page, p, slow.heap == NULL);
    xp_slow_leave(&slow);
}

size_t xp_heap_usable_size(const void *p, bool ask)
{
    struct xp_page *page = xp_arena_page_of(p);

    if (!page) {
        struct xp_huge *huge = xp_huge_find(p);
        if (!huge)
            return xp_emergency_usable(p);
        if (ask && atomic_load_explicit(&huge->sampled, memory_order_relaxed))
            xp_slot_ask(&huge->slot);
        return atomic_load_explicit(&huge->size, memory_order_relaxed);
    }
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_acquire);
    if (owner == XP_OWNER_LARGE) {
        if (ask && (page->flags & XP_PAGE_SAMPLED))
            xp_slot_ask(&page->slot);
        return page->start == (uintptr_t)p ? atomic_load_explicit(&page->size, memory_order_relaxed)
                                           : 0;
    }
    if (owner == XP_OWNER_SAMPLED) {
        struct xp_slot *slot = xp_sampled_slot(page, p);
        if (!slot || !xp_slot_is_live(slot))
            return 0;
        if (ask)
            xp_slot_ask(slot);
        return page->block_size;
    }
    if (owner == XP_OWNER_NONE || owner == XP_OWNER_CLAIMED)
        return 0;
    return xp_page_has_block(page, (uintptr_t)p) ? page->block_size : 0;
}

bool xp_heap_owns(const void *p)
{
    return xp_arena_page_of(p) || xp_emergency_owns(p) || xp_huge_owns(p);
}

bool xp_heap_resize_stay(void *p, size_t new_size)
{
    struct xp_page *page = xp_arena_page_of(p);

    if (!page) {
        struct xp_huge *huge = xp_huge_find(p);
        if (!huge)
            return false;
        if (new_size <= XP_MEDIUM_MAX ||
            xp_large_charge(new_size) != atomic_load_explicit(&huge->size, memory_order_relaxed))
            return false;
        if (atomic_load_explicit(&huge->sampled, memory_order_relaxed))
            xp_slot_resize(&huge->slot, new_size);
        return true;
    }
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_acquire);
    if (owner == XP_OWNER_LARGE) {
        if (page->start != (uintptr_t)p || new_size <= XP_MEDIUM_MAX ||
            xp_large_charge(new_size) != atomic_load_explicit(&page->size, memory_order_relaxed))
            return false;
        if (page->flags & XP_PAGE_SAMPLED)
            xp_slot_resize(&page->slot, new_size);
        return true;
    }
    if (owner == XP_OWNER_NONE || owner == XP_OWNER_CLAIMED ||
        xp_class_find(new_size, 0) != page->size_class)
        return false;
    if (owner == XP_OWNER_SAMPLED) {
        struct xp_slot *slot = xp_sampled_slot(page, p);
        if (!slot || !xp_slot_is_live(slot))
            return false;
        xp_slot_resize(slot, new_size);
    }
    return true;
}
