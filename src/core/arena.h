/* SPDX-License-Identifier: MIT */
/* arena.h - address space: reserved once, committed as needed, handed out in runs of slices.
 *
 * Layer core. Lock: XP_RANK_SEGMENT, waits bounded. An arena is a reservation (PROT_NONE); its
 * front part, up to `limit`, is committed. Free slices are bits in their segment; every step under
 * the lock leaves at worst slices that nobody uses, so a frame that vanishes in the middle
 * (siglongjmp, fork) does no harm. The first arena is the one the fast path knows. */
#ifndef XP_CORE_ARENA_H
#define XP_CORE_ARENA_H

#include "base/lock.h"
#include "core/heap.h"
#include "core/page.h"

#define XP_SLICE_SHIFT    16
#define XP_SLICE          ((size_t)1 << XP_SLICE_SHIFT)
#define XP_SEGMENT_SLICES 512u
#define XP_SEGMENT_SIZE   (XP_SEGMENT_SLICES * XP_SLICE)
#define XP_ARENAS         64u
#define XP_RUN_MAX_SLICES 256u /* longer blocks have a mapping of their own */

#define XP_SEGMENT_WORDS (XP_SEGMENT_SLICES / 64)

/* Bits for slices. What leaves `free` leaves the others, too. A slice that stays dirty from one
 * look of the purge to the next is aged, and from then to the one after it ripe: it goes. */
struct xp_segment {
    uint64_t free[XP_SEGMENT_WORDS];
    uint64_t dirty[XP_SEGMENT_WORDS]; /* of free ones: written since the system gave it */
    uint64_t aged[XP_SEGMENT_WORDS];  /* of dirty ones */
    uint64_t ripe[XP_SEGMENT_WORDS];  /* of dirty ones */
    uint64_t gone[XP_SEGMENT_WORDS];  /* of clean ones: given back to the system not long ago */
    uint64_t aged_ns;                 /* when the purge looked last */
    uint64_t gone_ns;                 /* when it gave slices back last */
    uint32_t dirty_count;
    uint32_t run_bound; /* no free run is longer */
};

struct xp_arena {
    _Atomic uintptr_t base; /* multiple of a slice */
    _Atomic size_t limit;   /* bytes committed from base on; grows only; release after the rest */
    struct xp_page *_Atomic *map; /* slice -> page of its run */
    struct xp_page *pages;        /* slice -> its own page */
    struct xp_segment *segments;
    size_t reserved;   /* bytes from base on; 0: vacant, its addresses went back */
    size_t slices_max; /* what map and pages are long enough for */
    size_t used;       /* slices in use */
};

extern XP_HIDDEN struct xp_arena xp_arenas[XP_ARENAS];

/* The page that p lies in, or NULL when p is in no arena. Lock-free. */
struct xp_page *xp_arena_page_of(const void *p);

XP_ALWAYS_INLINE uintptr_t xp_page_base(const struct xp_page *page)
{
    const struct xp_arena *arena = &xp_arenas[page->arena];
    return atomic_load_explicit(&arena->base, memory_order_relaxed) +
           ((uintptr_t)(page - arena->pages) << XP_SLICE_SHIFT);
}

/* Once, at the first slow path. */
void xp_arena_init(const struct xp_core_options *options);
/* True when there is at least one arena. */
bool xp_arena_is_usable(void);

/* A run of count slices (1..XP_SEGMENT_SLICES) at a multiple of align (a power of two >= XP_SLICE).
 * Dirty ones are preferred, low ones among them. *ret_clean: all bytes are zero. The owner word is
 * CLAIMED. NULL without memory, beyond the heap limit, or when the lock cannot be had. */
struct xp_page *xp_slices_take(uint32_t count, size_t align, bool *ret_clean);
/* Gives a run back; its owner word must be CLAIMED. clean: it reads as zero. Never fails:
 * what cannot be done now is done by the next caller. Lock-free if `later`, for signal handlers. */
void xp_slices_give(struct xp_page *page, bool clean, bool later);
/* Makes the run count slices long, by cutting its tail or taking free neighbours. */
bool xp_slices_resize(struct xp_page *page, uint32_t count);

/* A walk over free slices that are to go back to the system, from high addresses to low ones: there
 * live the blocks that were wanted last. Starts at zero. */
struct xp_dirty_cursor {
    uint64_t now_ns;
    uint64_t period_ns; /* between two looks at a segment; 0: all that is dirty, of whatever age */
    uint32_t run_least, run_most;
    bool started;
    uint32_t arena, segment, slice; /* where to go on */
};
/* The next run, taken as by xp_slices_take(). NULL: no more. */
struct xp_page *xp_slices_take_dirty(struct xp_dirty_cursor *cursor);
/* Gives back a run that was taken so. gone: the system has it, and it reads as zero. */
void xp_slices_give_purged(struct xp_page *page, bool gone, uint64_t now_ns);

/* Unmaps what is reserved and not committed, but for a fair share of limit. */
void xp_arena_give_up_reserve(uint64_t limit);

/* Unmaps arenas in which nothing is in use (but the first). True if any went: what failed for want
 * of address space is worth another try. */
bool xp_arena_unmap_unused(void);

/* Calls fn for every page in the committed part of all arenas, in address order. Lock-free. */
void xp_arena_each_page(void (*fn)(struct xp_page *page, void *arg), void *arg);

extern struct xp_lock xp_arena_lock;

struct xp_arena_stats {
    _Atomic size_t used_slices, dirty_slices, peak_slices;
    _Atomic size_t committed_bytes;
    _Atomic uint64_t fresh_slices;  /* taken */
    _Atomic uint64_t reused_slices; /* taken soon after they had been given back to the system */
};
extern struct xp_arena_stats xp_arena_stats;

#endif
