/* SPDX-License-Identifier: MIT */
/* large.c - blocks of whole OS pages: runs of slices, and beyond them mappings. */
#include "core/large.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/os.h"
#include "core/arena.h"
#include "core/huge.h"
#include "core/sampling.h"
#include "core/slot.h"
#include "core/slow.h"

/* From here on pages are moved instead of bytes. */
#define MOVE_LEAST ((size_t)1 << 20)

size_t xp_large_charge(size_t size)
{
    return xp_align_up(size ? size : 1, XP_OS_PAGE);
}

static uint32_t slices_for(size_t size)
{
    return (uint32_t)((size + XP_SLICE - 1) >> XP_SLICE_SHIFT);
}

static struct xp_page *take_run(size_t usable, size_t align, bool *ret_clean)
{
    if (usable > XP_SEGMENT_SIZE || align > XP_SEGMENT_SIZE / 2)
        return NULL;
    return xp_slices_take(slices_for(usable), align > XP_SLICE ? align : XP_SLICE, ret_clean);
}

/* Where the address space is short, one kind serves for the other, and arenas in which nothing is
 * in use make room. */
static bool take_somewhere(size_t usable, size_t align, struct xp_page **ret_page,
                           struct xp_huge **ret_huge, bool *ret_clean)
{
    bool prefer_run = usable <= XP_RUN_MAX_SLICES * XP_SLICE;

    *ret_huge = NULL;
    *ret_page = prefer_run ? take_run(usable, align, ret_clean) : NULL;
    if (*ret_page)
        return true;
    *ret_huge = xp_huge_create(usable, align);
    if (!*ret_huge && xp_arena_unmap_unused())
        *ret_huge = xp_huge_create(usable, align);
    if (*ret_huge)
        return true;
    *ret_page = take_run(usable, align, ret_clean);
    return *ret_page != NULL;
}

void *xp_large_take(size_t size, size_t align, unsigned *flags)
{
    size_t usable = xp_large_charge(size);
    struct xp_page *page;
    struct xp_huge *huge;
    bool clean = false;

    if (!take_somewhere(usable, align, &page, &huge, &clean))
        return NULL;
    if (huge || clean)
        *flags &= ~XP_ALLOC_ZERO;
    if (huge)
        return (void *)atomic_load_explicit(&huge->start, memory_order_relaxed);
    page->start = xp_page_base(page);
    atomic_store_explicit(&page->size, usable, memory_order_relaxed);
    /* release: whoever finds the owner finds the rest. */
    atomic_store_explicit(&page->owner, XP_OWNER_LARGE, memory_order_release);
    return (void *)page->start;
}

int xp_large_alloc(struct xp_heap *heap, size_t size, size_t align, unsigned *flags,
                   void **ret_block, double *ret_weight)
{
    if (xp_sampling_charge(heap, xp_large_charge(size), ret_weight))
        return XP_DUE;
    *ret_block = xp_large_take(size, align, flags);
    return *ret_block ? 0 : -ENOMEM;
}

bool xp_large_claim(struct xp_page *page)
{
    uintptr_t large = XP_OWNER_LARGE;

    return atomic_compare_exchange_strong_explicit(&page->owner, &large, XP_OWNER_CLAIMED,
                                                   memory_order_acq_rel, memory_order_relaxed);
}

void xp_heap_attach_record(void *p, const struct xp_record *record)
{
    struct xp_page *page = xp_arena_page_of(p);

    if (page && atomic_load_explicit(&page->owner, memory_order_relaxed) == XP_OWNER_LARGE) {
        page->flags |= XP_PAGE_SAMPLED;
        xp_slot_put(&page->slot, record);
        return;
    }
    struct xp_huge *huge = page ? NULL : xp_huge_find(p);
    if (huge) {
        atomic_store_explicit(&huge->sampled, 1, memory_order_relaxed);
        xp_slot_put(&huge->slot, record);
    }
}

/* ---- in place, or by moving pages ---- */

/* The pages of a run go to a mapping of their own, which can grow. In two steps, because what the
 * kernel grows must be one mapping from end to end. */
static int run_to_huge(struct xp_page *page, size_t size, void **ret_block)
{
    void *run = (void *)page->start, *out, *grown;
    size_t old = atomic_load_explicit(&page->size, memory_order_relaxed);
    size_t usable = xp_large_charge(size);

    if (old > usable || xp_os_move_out(run, old, &out) < 0)
        return -ENOTSUP;
    if (xp_os_remap(out, old, usable, true, &grown) == 0) {
        if (xp_huge_adopt(grown, usable)) {
            *ret_block = grown;
            return 0;
        }
        if (xp_os_remap(grown, usable, old, false, &out) < 0)
            out = grown;
    }
    if (xp_os_move_back(out, old, run) < 0) {
        memcpy(run, out, old);
        xp_os_unmap(out, old);
    }
    return -ENOTSUP;
}

static int resize_run(struct xp_page *page, size_t size, void **ret_block,
                      struct xp_record *ret_record, bool *ret_had_record)
{
    size_t usable = xp_large_charge(size);
    bool stays =
        usable <= XP_RUN_MAX_SLICES * XP_SLICE && xp_slices_resize(page, slices_for(usable));

    if (!stays) {
        if (size < MOVE_LEAST)
            return -ENOTSUP;
        int r = run_to_huge(page, size, ret_block);
        if (r < 0)
            return r;
    }
    *ret_had_record = (page->flags & XP_PAGE_SAMPLED) && xp_slot_take(&page->slot, ret_record);
    page->flags &= (uint8_t)~XP_PAGE_SAMPLED;
    if (stays) {
        atomic_store_explicit(&page->size, usable, memory_order_relaxed);
        *ret_block = (void *)page->start;
    } else if (xp_large_claim(page)) {
        xp_slices_give(page, false, false); /* behind its size it may be written */
    }
    return 0;
}

static int resize_huge(struct xp_huge *huge, size_t size, void **ret_block,
                       struct xp_record *ret_record, bool *ret_had_record)
{
    if (size < MOVE_LEAST || xp_huge_resize(huge, size) < 0)
        return -ENOTSUP;
    *ret_had_record = atomic_load_explicit(&huge->sampled, memory_order_relaxed) &&
                      xp_slot_take(&huge->slot, ret_record);
    atomic_store_explicit(&huge->sampled, 0, memory_order_relaxed);
    *ret_block = (void *)atomic_load_explicit(&huge->start, memory_order_relaxed);
    return 0;
}

int xp_heap_resize_pages(void *p, size_t new_size, void **ret_block, struct xp_record *ret_record,
                         bool *ret_had_record, struct xp_due *ret_due, bool *ret_is_due)
{
    struct xp_slow slow;
    double weight = 1;
    int r = -ENOTSUP;

    if (new_size <= XP_MEDIUM_MAX || new_size > PTRDIFF_MAX - XP_OS_PAGE)
        return -ENOTSUP;
    struct xp_page *page = xp_arena_page_of(p);
    if (page && (atomic_load_explicit(&page->owner, memory_order_acquire) != XP_OWNER_LARGE ||
                 page->start != (uintptr_t)p))
        return -ENOTSUP;
    struct xp_huge *huge = page ? NULL : xp_huge_find(p);
    if (!page && !huge)
        return -ENOTSUP;
    xp_slow_enter(&slow);
    if (slow.heap) {
        r = page ? resize_run(page, new_size, ret_block, ret_record, ret_had_record)
                 : resize_huge(huge, new_size, ret_block, ret_record, ret_had_record);
        if (r == 0) {
            *ret_is_due = xp_sampling_charge(slow.heap, xp_large_charge(new_size), &weight);
            ret_due->weight = weight;
            ret_due->row_class = (uint16_t)xp_row_class(new_size);
            if (*ret_is_due)
                xp_count(&slow.heap->samples);
        }
    }
    xp_slow_leave(&slow);
    return r;
}
