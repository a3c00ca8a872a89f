/* SPDX-License-Identifier: MIT */
/* page.h - what is known of a run of slices: its owner, its blocks, its free lists.
 *
 * Layer core. 128 bytes per slice, apart from the memory they describe; the one of a run's first
 * slice stands for the run. They are never unmapped, so a stale pointer to one stays readable.
 *
 * The owner word says at once how a block is freed:
 *   heap address        small page of that heap: its thread pushes, all others go by `remote`
 *   heap address | 1    medium page of that heap
 *   XP_OWNER_*          see below
 * A page changes hands by compare-and-swap of this word (heap -> NOBODY by its heap; NOBODY -> heap
 * or CLAIMED by anyone), or, for pages of resting heaps, under the resting lock. */
#ifndef XP_CORE_PAGE_H
#define XP_CORE_PAGE_H

#include "core/record.h"
#include "core/sizeclass.h"

enum xp_owner {
    XP_OWNER_NONE,    /* a free slice, or not the first one of its run */
    XP_OWNER_CLAIMED, /* on its way from one state to the next */
    XP_OWNER_NOBODY,  /* small or medium, full: whoever frees in it may take it */
    XP_OWNER_CHECKED, /* nobody's, while somebody looks whether it is empty */
    XP_OWNER_LARGE,   /* the run is one block */
    XP_OWNER_SAMPLED, /* every block has a record, core/sampled.c */
    XP_OWNER_CONSTANTS = 16
};
#define XP_OWNER_MEDIUM 1u

enum xp_page_flags {
    XP_PAGE_SAMPLED = 1, /* large: its record is, or was, in the slot */
    XP_PAGE_LISTED = 2,  /* sampled: in the list of its shard */
    XP_PAGE_FRESH = 4,   /* small: behind the carved blocks nothing was ever touched */
    XP_PAGE_MORE = 8,    /* small: not the first one of its class in the heap: larger steps */
};

/* A record that others may read while its block goes: see core/slot.h. */
#define XP_RECORD_WORDS 5
struct xp_slot {
    _Atomic uint64_t state;
    _Atomic uint64_t words[XP_RECORD_WORDS];
};

struct xp_page {
    /* line 0: written by the owner */
    _Atomic uintptr_t owner;
    /* Blocks that came back, chained; a push is complete with its store here. */
    void *_Atomic local;
    /* Carved blocks that are not in that list. The fast path counts after its push, one instruction
     * later: a handler that comes in between and takes the list leaves the count one off. So it
     * says when to look, and xp_page_is_empty() looks. */
    _Atomic uint32_t out;
    uint32_t block_size; /* bytes */
    uintptr_t start;     /* block 0 */
    /* Blocks carved so far; those behind were never handed out. Written by the owner, or under the
     * lock of the shard; read by those who free elsewhere. */
    _Atomic uint16_t bump;
    uint16_t capacity;           /* blocks */
    uint16_t slices;             /* length of the run */
    uint8_t size_class;          /* < XP_CLASSES, small, medium and sampled pages */
    uint8_t flags;               /* enum xp_page_flags */
    struct xp_page *next, *prev; /* queue of the heap or of the shard */
    uint8_t arena;               /* index of its arena */
    uint8_t shard;               /* sampled */
    uint16_t used;               /* sampled: blocks handed out; under the shard's lock */
    /* sampled: first free block + 1, chained through the slots */
    uint32_t free_index;

    /* line 1: written by anyone */
    _Atomic uint64_t remote; /* last block freed from elsewhere << 16 | how many */
    struct xp_slot slot;     /* large: the record */
    _Atomic uint64_t size;   /* large: usable bytes; sampled: generation of its list */
} XP_CACHE_ALIGNED;

_Static_assert(sizeof(struct xp_page) == 2 * XP_CACHE_LINE, "two cache lines per page");

XP_ALWAYS_INLINE uint32_t xp_page_bump(const struct xp_page *page)
{
    return atomic_load_explicit(&page->bump, memory_order_relaxed);
}

/* Words that hold a block and a count. User addresses have 47 bits, counts at most 13. */
XP_ALWAYS_INLINE void *xp_packed_block(uint64_t word)
{
    return (void *)(uintptr_t)(word >> 16);
}

XP_ALWAYS_INLINE uint32_t xp_packed_count(uint64_t word)
{
    return (uint32_t)(word & 0xffff);
}

XP_ALWAYS_INLINE uint64_t xp_pack(const void *block, uint32_t count)
{
    return (uint64_t)(uintptr_t)block << 16 | count;
}

XP_ALWAYS_INLINE void *xp_block_next(const void *block)
{
    return *(void *const *)block;
}

XP_ALWAYS_INLINE void xp_block_link(void *block, void *next)
{
    *(void **)block = next;
}

XP_ALWAYS_INLINE uint32_t xp_page_out(const struct xp_page *page)
{
    return atomic_load_explicit(&page->out, memory_order_relaxed);
}

/* Puts a block that the caller got from the page back on its list; the caller owns the page.
 * Returns how many blocks of the page are still out. */
XP_ALWAYS_INLINE uint32_t xp_page_push(struct xp_page *page, void *block)
{
    uint32_t out = xp_page_out(page) - 1;

    xp_block_link(block, atomic_load_explicit(&page->local, memory_order_relaxed));
    atomic_store_explicit(&page->local, block, memory_order_relaxed);
    atomic_store_explicit(&page->out, out, memory_order_relaxed);
    return out;
}

/* Makes a run a page of blocks of that class; the owner word is the caller's last step. */
void xp_page_init(struct xp_page *page, unsigned size_class);
/* Slices that a page of the class has. */
uint32_t xp_page_slices(unsigned size_class);

/* Blocks that are free now, chained: own list, else what others freed, else newly carved ones.
 * They count as out from here on. NULL when the page is full. The caller owns the page. The chain
 * ends with NULL; its length may be a few more or less than *ret_count >= 1 (see xp_page.out). */
void *xp_page_collect(struct xp_page *page, uint32_t *ret_count);

/* Takes everything freed elsewhere into the page's own list; returns the blocks still out. */
uint32_t xp_page_gather(struct xp_page *page);

/* Blocks in the page's own list, one by one. */
uint32_t xp_page_count_local(const struct xp_page *page);

/* True when really no block is out: asked when the count says so, which is put right if it was
 * wrong. The caller owns the page. */
bool xp_page_is_empty(struct xp_page *page);

/* True when p is the first byte of a carved block of the page. */
bool xp_page_has_block(const struct xp_page *page, uintptr_t p);

/* Frees a chain of blocks of a page that is not the caller's; returns how many are on that list
 * now. */
uint32_t xp_page_push_remote(struct xp_page *page, void *first, void *last, uint32_t blocks);

#endif
