/* SPDX-License-Identifier: MIT */
/* sampled.c - pages in which every block has a record.
 *
 *   | block 0 | block 1 | ... | block n-1 | gap < one block | slot 0 | slot 1 | ... | slot n-1 |
 *   ^ start of the run                                                        end of the run ^ */
#include "core/sampled.h"

#include "base/panic.h"
#include "core/arena.h"
#include "core/limits.h"
#include "core/sampling.h"
#include "core/slot.h"

#define FEW_SHARDS   8u
#define BLOCKS_LEAST 8u /* in a page */

/* Apart from what they guard, on few OS pages: a fork takes and resets them all. */
static struct {
    struct xp_lock lock;
} XP_CACHE_ALIGNED locks[XP_SHARDS] = {
    [0 ... XP_SHARDS - 1] = {.lock = XP_LOCK_INIT(XP_RANK_SAMPLED)}};

static struct shard {
    /* Pages with free blocks. A page whose generation is not the shard's is in no list: the lists
     * were dropped when a frame vanished between two of their links. */
    struct xp_page *pages[XP_CLASSES];
    uint32_t generation;
} XP_CACHE_ALIGNED shards[XP_SHARDS] XP_BULK;

static struct xp_lock *lock_of(const struct shard *shard)
{
    return &locks[shard - shards].lock;
}

/* seq_cst against the owner word: see release_page(). */
static _Atomic uint32_t walkers;

struct xp_lock *xp_sampled_lock(unsigned shard)
{
    return &locks[shard].lock;
}

void xp_sampled_distrust(unsigned shard)
{
    for (unsigned class = 0; class < XP_CLASSES; class ++)
        shards[shard].pages[class] = NULL;
    shards[shard].generation++;
}

void xp_sampled_fork_child(void)
{
    atomic_store_explicit(&walkers, 0, memory_order_relaxed);
}

static struct xp_slot *slots_of(const struct xp_page *page)
{
    uintptr_t end = xp_page_base(page) + ((uintptr_t)page->slices << XP_SLICE_SHIFT);
    return (struct xp_slot *)(end - (uintptr_t)page->capacity * sizeof(struct xp_slot));
}

static bool is_listed(const struct xp_page *page, const struct shard *shard)
{
    return (page->flags & XP_PAGE_LISTED) &&
           atomic_load_explicit(&page->size, memory_order_relaxed) == shard->generation;
}

static void list_page(struct shard *shard, struct xp_page *page)
{
    struct xp_page **head = &shard->pages[page->size_class];

    page->prev = NULL;
    page->next = *head;
    if (*head)
        (*head)->prev = page;
    *head = page;
    page->flags |= XP_PAGE_LISTED;
    atomic_store_explicit(&page->size, shard->generation, memory_order_relaxed);
}

static void unlist_page(struct shard *shard, struct xp_page *page)
{
    if (!is_listed(page, shard))
        return;
    if (page->next)
        page->next->prev = page->prev;
    if (page->prev)
        page->prev->next = page->next;
    else
        shard->pages[page->size_class] = page->next;
    page->flags &= (uint8_t)~XP_PAGE_LISTED;
}

static void put_index(struct xp_page *page, uint32_t index)
{
    struct xp_slot *slot = &slots_of(page)[index];

    /* release: not before the state that ended the record, for readers of the slot. */
    atomic_store_explicit(&slot->words[0], page->free_index, memory_order_release);
    page->free_index = index + 1;
    page->used--;
}

static bool take_index(struct xp_page *page, uint32_t *ret_index)
{
    uint32_t index = page->free_index;

    if (index != 0) {
        struct xp_slot *slot = &slots_of(page)[--index];
        page->free_index = (uint32_t)atomic_load_explicit(&slot->words[0], memory_order_relaxed);
    } else if (xp_page_bump(page) < page->capacity) {
        index = xp_page_bump(page);
        atomic_store_explicit(&page->bump, (uint16_t)(index + 1), memory_order_relaxed);
    } else {
        return false;
    }
    page->used++;
    *ret_index = index;
    return true;
}

/* Blocks that came back while no lock could be taken. */
static void put_remote_ones(struct xp_page *page)
{
    if (atomic_load_explicit(&page->remote, memory_order_relaxed) == 0)
        return;
    /* acquire: pairs with the release in xp_page_push_remote(). */
    uint64_t word = atomic_exchange_explicit(&page->remote, 0, memory_order_acq_rel);
    void *block = xp_packed_block(word);
    for (uint32_t n = xp_packed_count(word); n > 0; n--) {
        void *next = xp_block_next(block);
        put_index(page, (uint32_t)(((uintptr_t)block - page->start) / page->block_size));
        block = next;
    }
}

/* Few samples live at once, so pages are shorter than those of a heap. */
static uint32_t slices_of_class(unsigned size_class)
{
    size_t bytes = BLOCKS_LEAST * (xp_class_size[size_class] + sizeof(struct xp_slot));
    return (uint32_t)((bytes + XP_SLICE - 1) >> XP_SLICE_SHIFT);
}

static struct xp_page *new_page(struct shard *shard, unsigned size_class)
{
    bool clean;
    struct xp_page *page = xp_slices_take(slices_of_class(size_class), XP_SLICE, &clean);

    if (!page)
        return NULL;
    xp_page_init(page, size_class);
    page->start = xp_page_base(page);
    page->capacity = (uint16_t)(((size_t)page->slices << XP_SLICE_SHIFT) /
                                (page->block_size + sizeof(struct xp_slot)));
    page->shard = (uint8_t)(shard - shards);
    page->used = 0;
    page->free_index = 0;
    if (!clean) {
        struct xp_slot *slots = slots_of(page);
        for (uint32_t i = 0; i < page->capacity; i++)
            atomic_store_explicit(&slots[i].state, 0, memory_order_relaxed);
    }
    /* release: from here on walkers read the slots. */
    atomic_store_explicit(&page->owner, XP_OWNER_SAMPLED, memory_order_release);
    list_page(shard, page);
    return page;
}

/* An empty page goes back, unless a walker may be reading its slots. Both sides write first and
 * then look, in one order for all (seq_cst): either the walker sees that it is no page of records
 * any more, or we see the walker and take it back. */
static void release_page(struct shard *shard, struct xp_page *page)
{
    atomic_exchange_explicit(&page->owner, XP_OWNER_CLAIMED, memory_order_seq_cst);
    if (atomic_load_explicit(&walkers, memory_order_seq_cst) != 0) {
        atomic_store_explicit(&page->owner, XP_OWNER_SAMPLED, memory_order_release);
        return;
    }
    unlist_page(shard, page);
    xp_slices_give(page, false, false);
}

static void *take_block_locked(struct shard *shard, unsigned size_class)
{
    uint32_t index;

    for (;;) {
        struct xp_page *page = shard->pages[size_class];
        if (!page)
            page = new_page(shard, size_class);
        if (!page)
            return NULL;
        put_remote_ones(page);
        if (take_index(page, &index))
            return (char *)page->start + (size_t)index * page->block_size;
        unlist_page(shard, page);
    }
}

void *xp_sampled_alloc(unsigned size_class, uint32_t hint, const struct xp_record *record)
{
    struct shard *shard = &shards[hint % (xp_sampling_exact() ? XP_SHARDS : FEW_SHARDS)];

    if (xp_limits_lock(lock_of(shard)) < 0)
        return NULL;
    void *block = take_block_locked(shard, size_class);
    xp_lock_give(lock_of(shard));
    if (block)
        xp_slot_put(xp_sampled_slot(xp_arena_page_of(block), block), record);
    return block;
}

struct xp_slot *xp_sampled_slot(struct xp_page *page, const void *p)
{
    uintptr_t offset = (uintptr_t)p - page->start;
    uintptr_t index = offset / page->block_size;

    if (index >= page->capacity || index * page->block_size != offset)
        return NULL;
    return &slots_of(page)[index];
}

void xp_sampled_release(struct xp_page *page, void *p, bool later)
{
    struct shard *shard = &shards[page->shard];

    if (later || xp_limits_lock(lock_of(shard)) < 0) {
        xp_page_push_remote(page, p, p, 1);
        return;
    }
    put_remote_ones(page);
    put_index(page, (uint32_t)(((uintptr_t)p - page->start) / page->block_size));
    if (!is_listed(page, shard))
        list_page(shard, page);
    /* The last page of a small class stays: one sample more or less must not cost a page. */
    if (page->used == 0 && (page->next || page->prev || page->size_class >= XP_SMALL_CLASSES))
        release_page(shard, page);
    xp_lock_give(lock_of(shard));
}

void xp_sampled_trim(void)
{
    for (unsigned i = 0; i < XP_SHARDS; i++) {
        struct shard *shard = &shards[i];
        if (xp_limits_lock(lock_of(shard)) < 0)
            continue;
        for (unsigned class = 0; class < XP_CLASSES; class ++) {
            for (struct xp_page *page = shard->pages[class], *next; page; page = next) {
                next = page->next;
                put_remote_ones(page);
                if (page->used == 0)
                    release_page(shard, page);
            }
        }
        xp_lock_give(lock_of(shard));
    }
}

void xp_sampled_walk_begin(void)
{
    atomic_fetch_add_explicit(&walkers, 1, memory_order_seq_cst);
}

void xp_sampled_walk_end(void)
{
    atomic_fetch_sub_explicit(&walkers, 1, memory_order_release);
}

void xp_sampled_each(struct xp_page *page,
                     void (*fn)(const struct xp_record *record, void *block, void *arg), void *arg)
{
    struct xp_record record;
    uint32_t bump = xp_page_bump(page);
    struct xp_slot *slots = slots_of(page);

    for (uint32_t i = 0; i < bump; i++) {
        if (xp_slot_read(&slots[i], &record))
            fn(&record, (char *)page->start + (size_t)i * page->block_size, arg);
    }
}
