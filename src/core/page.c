/* SPDX-License-Identifier: MIT */
/* page.c - blocks of one size in a run of slices: carving, collecting, frees from elsewhere. */
#include "core/page.h"

#include <sys/mman.h>

#include "base/bits.h"
#include "base/os.h"
#include "base/panic.h"
#include "core/arena.h"
#include "core/stats.h"

#define MEDIUM_SLICES 8u

/* How much is carved at once: little for a class that is hardly used, the page soon after. */
#define CARVE_FIRST ((uint32_t)4096)
#define CARVE_MORE  ((uint32_t)16384)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

uint32_t xp_page_slices(unsigned size_class)
{
    return size_class < XP_SMALL_CLASSES ? 1 : MEDIUM_SLICES;
}

/* Block 0 of all pages would share one set of the first-level cache, since what else stands at the
 * start of a page stands elsewhere here: pages are shifted by up to 7 lines, if the alignment of
 * the class allows. */
static uint32_t colour(const struct xp_page *page, uint32_t block_size)
{
    uint32_t natural = block_size & -block_size;
    if (natural > XP_CACHE_LINE)
        return 0;
    return (uint32_t)(xp_page_base(page) >> XP_SLICE_SHIFT) % 8 * XP_CACHE_LINE;
}

void xp_page_init(struct xp_page *page, unsigned size_class)
{
    uint32_t size = xp_class_size[size_class];
    uint32_t shift = colour(page, size);

    page->start = xp_page_base(page) + shift;
    page->block_size = size;
    page->capacity = (uint16_t)(((uint32_t)page->slices * (uint32_t)XP_SLICE - shift) / size);
    atomic_store_explicit(&page->bump, 0, memory_order_relaxed);
    page->size_class = (uint8_t)size_class;
    page->next = page->prev = NULL;
    atomic_store_explicit(&page->local, NULL, memory_order_relaxed);
    atomic_store_explicit(&page->out, 0, memory_order_relaxed);
    atomic_store_explicit(&page->remote, 0, memory_order_relaxed);
}

static uint32_t carve_count(const struct xp_page *page)
{
    uint32_t bytes =
        page->flags & XP_PAGE_MORE || xp_page_bump(page) * page->block_size >= CARVE_MORE
            ? CARVE_MORE
            : CARVE_FIRST;
    uint32_t count = bytes / page->block_size;
    uint32_t left = page->capacity - xp_page_bump(page);

    if (count == 0)
        count = 1;
    return count < left ? count : left;
}

/* The blocks will all be written to at once, by the links: one call instead of a fault for each OS
 * page. If it fails, the faults do it. */
static void populate(const struct xp_page *page, uint32_t count)
{
    uintptr_t from = page->start + (uintptr_t)xp_page_bump(page) * page->block_size;
    uintptr_t to = xp_align_up(from + (uintptr_t)count * page->block_size, XP_OS_PAGE);

    from = xp_align_up(from, XP_OS_PAGE); /* what lies before was touched, or is one fault */
    if (to < from + 2 * XP_OS_PAGE ||
        xp_os_advise((void *)from, to - from, MADV_POPULATE_WRITE) < 0)
        return;
    atomic_fetch_add_explicit(&xp_populate_calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&xp_populate_bytes, to - from, memory_order_relaxed);
}

static void *carve(struct xp_page *page, uint32_t count)
{
    if (page->flags & XP_PAGE_FRESH)
        populate(page, count);

    char *first = (char *)page->start + (size_t)xp_page_bump(page) * page->block_size;
    char *last = first + (size_t)(count - 1) * page->block_size;

    for (char *block = first; block < last; block += page->block_size)
        xp_block_link(block, block + page->block_size);
    xp_block_link(last, NULL);
    return first;
}

void *xp_page_collect(struct xp_page *page, uint32_t *ret_count)
{
    void *local = atomic_load_explicit(&page->local, memory_order_relaxed);
    uint32_t bump = xp_page_bump(page);
    uint32_t out = xp_page_out(page);

    if (local) {
        *ret_count = out < bump ? bump - out : 1;
        atomic_store_explicit(&page->local, NULL, memory_order_relaxed);
        atomic_store_explicit(&page->out, bump, memory_order_relaxed);
        return local;
    }
    if (atomic_load_explicit(&page->remote, memory_order_relaxed) != 0) {
        /* acquire: pairs with the release in xp_page_push_remote(): the links are there. Blocks
         * freed elsewhere were counted as out, and still are. */
        uint64_t remote = atomic_exchange_explicit(&page->remote, 0, memory_order_acq_rel);
        *ret_count = xp_packed_count(remote);
        return xp_packed_block(remote);
    }
    if (bump < page->capacity) {
        uint32_t count = carve_count(page);
        void *first = carve(page, count);
        atomic_store_explicit(&page->bump, (uint16_t)(bump + count), memory_order_relaxed);
        atomic_store_explicit(&page->out, out + count, memory_order_relaxed);
        *ret_count = count;
        return first;
    }
    return NULL;
}

uint32_t xp_page_gather(struct xp_page *page)
{
    if (atomic_load_explicit(&page->remote, memory_order_relaxed) != 0) {
        /* acquire: as above. */
        uint64_t remote = atomic_exchange_explicit(&page->remote, 0, memory_order_acq_rel);
        void *block = xp_packed_block(remote);
        for (uint32_t n = xp_packed_count(remote); n > 0; n--) {
            void *next = xp_block_next(block);
            xp_page_push(page, block);
            block = next;
        }
    }
    return xp_page_out(page);
}

uint32_t xp_page_count_local(const struct xp_page *page)
{
    uint32_t bump = xp_page_bump(page), count = 0;

    /* A block freed twice may have made a ring. */
    for (void *block = atomic_load_explicit(&page->local, memory_order_relaxed);
         block && count <= bump; block = xp_block_next(block))
        count++;
    return count;
}

bool xp_page_is_empty(struct xp_page *page)
{
    uint32_t bump = xp_page_bump(page), count = xp_page_count_local(page);

    atomic_store_explicit(&page->out, count < bump ? bump - count : 0, memory_order_relaxed);
    return count == bump;
}

bool xp_page_has_block(const struct xp_page *page, uintptr_t p)
{
    uintptr_t offset = p - page->start;
    return p >= page->start && offset < (uintptr_t)xp_page_bump(page) * page->block_size &&
           offset % page->block_size == 0;
}

uint32_t xp_page_push_remote(struct xp_page *page, void *first, void *last, uint32_t blocks)
{
    uint64_t old = atomic_load_explicit(&page->remote, memory_order_relaxed);
    uint64_t now;

    do {
        xp_block_link(last, xp_packed_block(old));
        now = xp_pack(first, xp_packed_count(old) + blocks);
        /* release: pairs with the exchanges that collect. seq_cst: whoever pushes then looks at
         * the owner word, and whoever lets a page go then looks at this one: one of the two must
         * see the other (core/free.c, core/heap.c). */
    } while (!atomic_compare_exchange_weak_explicit(&page->remote, &old, now, memory_order_seq_cst,
                                                    memory_order_relaxed));
    return xp_packed_count(now);
}
