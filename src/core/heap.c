/* SPDX-License-Identifier: MIT */
/* heap.c - heaps: where their pages come from and go to, and what happens when a thread ends. */
#include "core/state.h"

#include <string.h>

#include "base/meta.h"
#include "base/os.h"
#include "base/panic.h"
#include "core/arena.h"
#include "core/fast.h"
#include "core/layers.h"
#include "core/limits.h"
#include "core/sampling.h"
#include "core/share.h"
#include "core/slow.h"
#include "core/sweep.h"

/* Resting heaps looked at for one page: the lock is shared. */
#define STEAL_TRIES 8
/* Pages looked at for each one that is taken over: more than come, so that all get their turn. */
#define TAKE_OVER_SCAN 3

/* A refill of a small class takes so many blocks if it finds them in so many tries: a slow path
 * costs as much as twenty fast ones. */
#define REFILL_LEAST 16u
#define REFILL_PAGES 4u

struct xp_heap *_Atomic xp_heaps;
_Atomic uint64_t xp_heaps_adopted, xp_heaps_abandoned, xp_pages_stolen;

/* Pages of resting heaps change hands, and heaps come to rest and to life, under this lock. */
struct xp_lock xp_resting_lock = XP_LOCK_INIT(XP_RANK_RESTING);
static struct xp_heap *_Atomic resting; /* last one first; the lock guards it, hints may peek */
static _Atomic uint32_t serials;

static uintptr_t owner_word(const struct xp_heap *heap, const struct xp_page *page)
{
    return (uintptr_t)heap | (page->size_class < XP_SMALL_CLASSES ? 0 : XP_OWNER_MEDIUM);
}

/* ---- queues ---- */

static void queue_push(struct xp_heap *heap, struct xp_page *page)
{
    struct xp_page **head = &heap->queue[page->size_class];

    page->prev = NULL;
    page->next = *head;
    if (*head)
        (*head)->prev = page;
    *head = page;
}

/* Behind the page in use, which stays in use. */
static void queue_second(struct xp_heap *heap, struct xp_page *page)
{
    struct xp_page *head = heap->queue[page->size_class];

    if (!head) {
        queue_push(heap, page);
        return;
    }
    page->prev = head;
    page->next = head->next;
    if (head->next)
        head->next->prev = page;
    head->next = page;
}

static void queue_remove(struct xp_heap *heap, struct xp_page *page)
{
    if (heap->scan == page)
        heap->scan = page->next;
    if (page->next)
        page->next->prev = page->prev;
    if (page->prev)
        page->prev->next = page->next;
    else
        heap->queue[page->size_class] = page->next;
    page->next = page->prev = NULL;
}

/* The page is in no queue and no block of it is out, so nobody else can come by it. */
static void give_page(struct xp_page *page)
{
    atomic_store_explicit(&page->owner, XP_OWNER_CLAIMED, memory_order_relaxed);
    xp_slices_give(page, false, false);
}

/* Out of its queue, as the above wants it, to be given back later. */
static void take_out(struct xp_heap *heap, struct xp_page *page)
{
    queue_remove(heap, page);
    atomic_store_explicit(&page->owner, XP_OWNER_CLAIMED, memory_order_relaxed);
}

/* A full page belongs to nobody. False: blocks were freed meanwhile, and it is ours again. */
static bool let_go(struct xp_heap *heap, struct xp_page *page)
{
    queue_remove(heap, page);
    /* seq_cst: pairs with the push in xp_page_push_remote(). Who frees looks at the owner word
     * after its push, we look for pushes after our store: a last block is not overlooked by both.
     */
    atomic_exchange_explicit(&page->owner, XP_OWNER_NOBODY, memory_order_seq_cst);
    if (atomic_load_explicit(&page->remote, memory_order_seq_cst) == 0)
        return true;
    uintptr_t nobody = XP_OWNER_NOBODY;
    if (!atomic_compare_exchange_strong_explicit(&page->owner, &nobody, owner_word(heap, page),
                                                 memory_order_acq_rel, memory_order_relaxed))
        return true;
    queue_push(heap, page);
    return false;
}

/* A page of the class that a resting heap has blocks in. */
static struct xp_page *steal(struct xp_heap *heap, unsigned size_class)
{
    struct xp_page *page = NULL;

    /* Tried only: no page is worth a wait. */
    if (!atomic_load_explicit(&resting, memory_order_relaxed) || !xp_layer_works(XP_LAYER_ADOPT) ||
        xp_lock_mine(&xp_resting_lock) || !xp_lock_try(&xp_resting_lock))
        return NULL;
    struct xp_heap *from = atomic_load_explicit(&resting, memory_order_relaxed);
    for (int i = 0; from && i < STEAL_TRIES; i++, from = from->next_resting) {
        page = from->queue[size_class];
        if (!page)
            continue;
        queue_remove(from, page);
        atomic_store_explicit(&page->owner, owner_word(heap, page), memory_order_release);
        queue_push(heap, page);
        atomic_fetch_add_explicit(&xp_pages_stolen, 1, memory_order_relaxed);
        break;
    }
    xp_lock_give(&xp_resting_lock);
    return page;
}

static struct xp_page *fresh_page(struct xp_heap *heap, unsigned size_class)
{
    bool clean;
    struct xp_page *page = xp_slices_take(xp_page_slices(size_class), XP_SLICE, &clean);

    if (!page)
        return NULL;
    xp_page_init(page, size_class);
    if (size_class < XP_SMALL_CLASSES) {
        page->flags |= clean && xp_layer_works(XP_LAYER_POPULATE) ? XP_PAGE_FRESH : 0;
        page->flags |= heap->pages_made[size_class]++ > 1 ? XP_PAGE_MORE : 0;
    }
    /* release: whoever finds the owner finds the rest. */
    atomic_store_explicit(&page->owner, owner_word(heap, page), memory_order_release);
    queue_push(heap, page);
    return page;
}

/* Adds blocks of the page in use and of those behind it to a short chain. The pages stay in the
 * queue, empty-handed as they are: what comes back until the next refill comes the short way. */
static void collect_more(struct xp_heap *heap, unsigned size_class, void *blocks, uint32_t *count)
{
    struct xp_page *page = heap->queue[size_class];
    void *last = blocks;

    for (unsigned i = 0; i < REFILL_PAGES && page && *count < REFILL_LEAST; i++) {
        uint32_t more;
        void *next = xp_page_collect(page, &more);
        if (!next) {
            page = page->next;
            continue;
        }
        while (xp_block_next(last))
            last = xp_block_next(last);
        xp_block_link(last, next);
        *count += more;
    }
}

void *xp_heap_collect(struct xp_heap *heap, unsigned size_class, uint32_t *ret_count)
{
    struct xp_page *page;

    while ((page = heap->queue[size_class]) != NULL) {
        void *blocks = xp_page_collect(page, ret_count);
        if (blocks) {
            if (size_class < XP_SMALL_CLASSES && *ret_count < REFILL_LEAST)
                collect_more(heap, size_class, blocks, ret_count);
            return blocks;
        }
        let_go(heap, page);
    }
    page = steal(heap, size_class);
    if (page) {
        void *blocks = xp_page_collect(page, ret_count);
        if (blocks)
            return blocks;
        let_go(heap, page);
    }
    page = fresh_page(heap, size_class);
    return page ? xp_page_collect(page, ret_count) : NULL;
}

/* ---- frees ---- */

static void empty_page(struct xp_heap *heap, struct xp_page *page)
{
    /* The last page of a class stays, or every other malloc would take and give one. */
    if ((!page->next && !page->prev) || !xp_page_is_empty(page))
        return;
    queue_remove(heap, page);
    give_page(page);
    xp_sweep_if_due(heap);
}

static void push_local(struct xp_heap *heap, struct xp_page *page, void *block)
{
    if (xp_page_push(page, block) == 0)
        empty_page(heap, page);
}

/* The page was nobody's and is ours now: every block was out. */
static void take_over(struct xp_heap *heap, struct xp_page *page, void *block)
{
    atomic_store_explicit(&page->out, page->capacity, memory_order_relaxed);
    xp_page_push(page, block);
    if (xp_page_gather(page) == 0 && xp_page_is_empty(page)) {
        give_page(page);
        return;
    }
    queue_second(heap, page);
    /* Where several threads free one another's blocks, the last ones may be ours: then nobody has
     * seen that a page is empty. */
    bool round;
    xp_heap_give_pages(xp_heap_scan(heap, TAKE_OVER_SCAN, false, &round));
}

static void flush_magazine(struct xp_heap *heap, struct xp_magazine *magazine, unsigned keep)
{
    void **slots = magazine->slots;
    unsigned count = magazine->count;
    unsigned gone = count > keep ? count - keep : 0;

    /* The oldest go: they are cold. */
    for (unsigned i = 0; i < gone; i++) {
        struct xp_page *page = xp_arena_page_of(slots[i]);
        if (atomic_load_explicit(&page->owner, memory_order_relaxed) == owner_word(heap, page))
            push_local(heap, page, slots[i]);
        else
            xp_heap_free_block(heap, page, slots[i]);
    }
    for (unsigned i = gone; i < count; i++)
        slots[i - gone] = slots[i];
    magazine->count = (uint16_t)(count - gone);
}

void xp_heap_free_block(struct xp_heap *heap, struct xp_page *page, void *block)
{
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_relaxed);

    if (owner == (uintptr_t)heap) {
        push_local(heap, page, block);
        return;
    }
    if (owner == ((uintptr_t)heap | XP_OWNER_MEDIUM)) {
        unsigned medium = page->size_class - XP_SMALL_CLASSES;
        struct xp_magazine *magazine = &heap->cache.magazine[medium];
        if (XP_UNLIKELY(xp_share_limited) && magazine->count >= magazine->limit)
            xp_share_missed(heap, medium);
        if (magazine->limit == 0) {
            push_local(heap, page, block);
            return;
        }
        if (magazine->count >= magazine->limit)
            flush_magazine(heap, magazine, magazine->limit / 2);
        magazine->slots[magazine->count++] = block;
        return;
    }
    /* acquire: what its last owner left must be seen. */
    if (owner == XP_OWNER_NOBODY &&
        atomic_compare_exchange_strong_explicit(&page->owner, &owner, owner_word(heap, page),
                                                memory_order_acquire, memory_order_relaxed)) {
        take_over(heap, page, block);
        return;
    }
    xp_heap_free_remote(page, block, block, 1, false);
}

/* The page of a resting heap has all its blocks back. */
static bool release_resting(struct xp_heap *heap, struct xp_page *page, bool later)
{
    uint64_t signals;
    bool gone = false;

    xp_os_block_signals(&signals);
    if (!xp_lock_mine(&xp_resting_lock) && xp_limits_lock(&xp_resting_lock) == 0) {
        if (atomic_load_explicit(&heap->life, memory_order_relaxed) == XP_HEAP_RESTING &&
            atomic_load_explicit(&page->owner, memory_order_relaxed) == owner_word(heap, page) &&
            xp_page_gather(page) == 0 && xp_page_is_empty(page)) {
            take_out(heap, page);
            gone = true;
        }
        xp_lock_give(&xp_resting_lock);
    }
    xp_os_restore_signals(&signals);
    if (gone)
        xp_slices_give(page, false, later);
    return gone;
}

bool xp_heap_visit(struct xp_heap *heap)
{
    uint32_t nobody = 0;

    /* seq_cst here and in core/slow.c: who visits looks for the owner after it has said so, the
     * owner looks for a visitor after it has entered; one of the two sees the other. */
    if (!atomic_compare_exchange_strong_explicit(&heap->visited, &nobody, 1, memory_order_seq_cst,
                                                 memory_order_relaxed))
        return false;
    if (atomic_load_explicit(&heap->in_slow, memory_order_seq_cst) == 0 &&
        atomic_load_explicit(&heap->life, memory_order_seq_cst) == XP_HEAP_ACTIVE)
        return true;
    xp_heap_leave(heap);
    return false;
}

void xp_heap_leave(struct xp_heap *heap)
{
    /* release: the owner goes on with what was left. */
    atomic_store_explicit(&heap->visited, 0, memory_order_release);
}

/* No block of the page is in anybody's hands: those that are out are in its remote list. Then none
 * can come back any more, and nothing of this changes under our eyes. */
static bool is_all_back(const struct xp_page *page)
{
    uint32_t remote = xp_packed_count(atomic_load_explicit(&page->remote, memory_order_acquire));

    /* The count of those that are out may be wrong, the list is not. */
    return xp_page_out(page) == remote && xp_page_count_local(page) + remote == xp_page_bump(page);
}

/* The page of an active heap has all its blocks back, most of them by others. Its owner may sleep
 * for long. */
static bool release_visited(struct xp_heap *heap, struct xp_page *page)
{
    uint64_t signals;
    bool gone = false;

    xp_os_block_signals(&signals);
    if (xp_heap_visit(heap)) {
        if (atomic_load_explicit(&page->owner, memory_order_relaxed) == owner_word(heap, page) &&
            is_all_back(page)) {
            take_out(heap, page);
            gone = true;
        }
        xp_heap_leave(heap);
    }
    xp_os_restore_signals(&signals);
    if (gone)
        xp_slices_give(page, false, false);
    return gone;
}

struct xp_page *xp_heap_scan(struct xp_heap *heap, unsigned pages, bool all, bool *ret_round)
{
    struct xp_page *empty = NULL;

    *ret_round = false;
    while (pages-- > 0) {
        while (!heap->scan && !*ret_round) {
            heap->scan_class = (heap->scan_class + 1) % XP_CLASSES;
            heap->scan = heap->queue[heap->scan_class];
            *ret_round = heap->scan_class == 0;
        }
        struct xp_page *page = heap->scan;
        if (!page)
            break;
        heap->scan = page->next;
        if (!is_all_back(page) || (!all && !page->next && !page->prev))
            continue;
        take_out(heap, page);
        page->next = empty;
        empty = page;
    }
    return empty;
}

void xp_heap_give_pages(struct xp_page *pages)
{
    while (pages) {
        struct xp_page *next = pages->next;
        xp_slices_give(pages, false, false);
        pages = next;
    }
}

/* Nobody's page may have all its blocks back. The count that a push saw can be long out of date, so
 * it is read again once the page is held. A push that comes while it is held leaves the matter to
 * us: hence the loop. */
static bool release_nobodys(struct xp_page *page, uint32_t capacity, bool later)
{
    for (;;) {
        uintptr_t nobody = XP_OWNER_NOBODY;
        if (xp_packed_count(atomic_load_explicit(&page->remote, memory_order_seq_cst)) !=
                capacity ||
            !atomic_compare_exchange_strong_explicit(&page->owner, &nobody, XP_OWNER_CHECKED,
                                                     memory_order_seq_cst, memory_order_relaxed))
            return false;
        uint64_t remote = atomic_load_explicit(&page->remote, memory_order_seq_cst);
        if (xp_packed_count(remote) == page->capacity) {
            atomic_store_explicit(&page->owner, XP_OWNER_CLAIMED, memory_order_relaxed);
            xp_slices_give(page, false, later);
            return true;
        }
        atomic_exchange_explicit(&page->owner, XP_OWNER_NOBODY, memory_order_seq_cst);
    }
}

bool xp_heap_free_remote(struct xp_page *page, void *first, void *last, uint32_t blocks, bool later)
{
    uint32_t capacity = page->capacity;
    uint32_t count = xp_page_push_remote(page, first, last, blocks);
    /* seq_cst: see let_go(). The blocks are not ours any more, and the page may be anything by now;
     * only its atomic words may be looked at. */
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_seq_cst);

    if (owner == XP_OWNER_NOBODY)
        return count == capacity && release_nobodys(page, capacity, later);
    if (owner < XP_OWNER_CONSTANTS)
        return false;
    struct xp_heap *heap = (struct xp_heap *)(owner & ~(uintptr_t)XP_OWNER_MEDIUM);
    /* seq_cst: pairs with the exchange in rest_locked(); the pages are looked at after that. While
     * a heap rests, the number of blocks out does not change. */
    uint32_t life = atomic_load_explicit(&heap->life, memory_order_seq_cst);
    if (count < xp_page_out(page))
        return false;
    if (life == XP_HEAP_ACTIVE && !later)
        return release_visited(heap, page);
    return life == XP_HEAP_RESTING && release_resting(heap, page, later);
}

void xp_heap_page_emptied(struct xp_page *page)
{
    struct xp_slow slow;

    xp_slow_enter(&slow);
    /* A handler may have come first and used the page, or given it away. */
    if (slow.heap && !slow.fallback &&
        atomic_load_explicit(&page->owner, memory_order_relaxed) == (uintptr_t)slow.heap &&
        xp_page_out(page) == 0)
        empty_page(slow.heap, page);
    xp_slow_leave(&slow);
}

/* ---- life ---- */

static void start_front(struct xp_heap *heap)
{
    struct xp_front *front = &heap->cache.front;

    front->kind = XP_FRONT_HEAP;
    front->restart = &heap->no_restart;
    heap->shadow.kind = XP_FRONT_SHADOW;
    heap->shadow.restart = &heap->no_restart;
    memcpy(front->class_of, xp_small_class, sizeof(front->class_of));
    xp_share_start(heap);
}

struct xp_heap *xp_heap_create(void)
{
    struct xp_heap *heap = xp_meta_alloc(sizeof(*heap), XP_CACHE_LINE);

    if (!heap)
        return NULL;
    heap->serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
    xp_sampling_start_heap(heap);
    start_front(heap);
    heap->next = atomic_load_explicit(&xp_heaps, memory_order_relaxed);
    /* release: pairs with the acquire of those who walk the list. */
    while (!atomic_compare_exchange_weak_explicit(&xp_heaps, &heap->next, heap,
                                                  memory_order_release, memory_order_relaxed))
        ;
    return heap;
}

struct xp_heap *xp_heap_adopt(void)
{
    struct xp_heap *heap = NULL;

    if (atomic_load_explicit(&resting, memory_order_relaxed) && xp_layer_works(XP_LAYER_ADOPT) &&
        xp_limits_lock(&xp_resting_lock) == 0) {
        heap = atomic_load_explicit(&resting, memory_order_relaxed);
        if (heap) {
            atomic_store_explicit(&resting, heap->next_resting, memory_order_relaxed);
            atomic_store_explicit(&heap->life, XP_HEAP_ACTIVE, memory_order_relaxed);
        }
        xp_lock_give(&xp_resting_lock);
    }
    if (heap)
        atomic_fetch_add_explicit(&xp_heaps_adopted, 1, memory_order_relaxed);
    else
        heap = xp_heap_create();
    xp_share_divide();
    return heap;
}

void xp_heap_abandon(struct xp_heap *heap)
{
    atomic_store_explicit(&heap->life, XP_HEAP_ABANDONED, memory_order_relaxed);
    atomic_fetch_add_explicit(&xp_heaps_abandoned, 1, memory_order_relaxed);
}

static void rest_locked(struct xp_heap *heap)
{
    heap->next_resting = atomic_load_explicit(&resting, memory_order_relaxed);
    /* seq_cst: pairs with the load in xp_heap_free_remote(). */
    atomic_exchange_explicit(&heap->life, XP_HEAP_RESTING, memory_order_seq_cst);
    atomic_store_explicit(&resting, heap, memory_order_relaxed);
}

static void flush_chain(struct xp_heap *heap, void *block)
{
    while (block) {
        void *next = xp_block_next(block);
        xp_heap_free_block(heap, xp_arena_page_of(block), block);
        block = next;
    }
}

/* Empty pages go back, full ones to nobody; false when the page left the queue. */
static void tidy_page(struct xp_heap *heap, struct xp_page *page)
{
    uint32_t out = xp_page_gather(page);

    if (out == 0 && xp_page_is_empty(page)) {
        queue_remove(heap, page);
        give_page(page);
    } else if (out == page->capacity && !atomic_load_explicit(&page->local, memory_order_relaxed)) {
        let_go(heap, page);
    }
}

void xp_heap_flush_class(struct xp_heap *heap, unsigned class)
{
    if (class < XP_SMALL_CLASSES) {
        void *list = heap->cache.front.list[class];
        void *pending = heap->pending[class];
        heap->cache.front.list[class] = heap->pending[class] = NULL;
        heap->pending_count[class] = 0;
        xp_sampling_put_back(heap, class, list);
        flush_chain(heap, list);
        flush_chain(heap, pending);
    } else {
        flush_magazine(heap, &heap->cache.magazine[class - XP_SMALL_CLASSES], 0);
    }
}

void xp_heap_flush(struct xp_heap *heap)
{
    for (unsigned class = 0; class < XP_CLASSES; class ++) {
        xp_heap_flush_class(heap, class);
        for (struct xp_page *page = heap->queue[class], *next; page; page = next) {
            next = page->next;
            tidy_page(heap, page);
        }
    }
}

void xp_heap_rest(struct xp_heap *heap)
{
    xp_heap_flush(heap);
    if (xp_limits_lock(&xp_resting_lock) < 0) {
        atomic_store_explicit(&heap->life, XP_HEAP_ABANDONED, memory_order_relaxed);
        atomic_fetch_add_explicit(&xp_heaps_abandoned, 1, memory_order_relaxed);
        return;
    }
    rest_locked(heap);
    /* Frees that came before the word changed did not look whether they were the last. */
    for (unsigned class = 0; class < XP_CLASSES; class ++) {
        for (struct xp_page *page = heap->queue[class], *next; page; page = next) {
            next = page->next;
            tidy_page(heap, page);
        }
    }
    xp_lock_give(&xp_resting_lock);
    xp_share_divide();
}

void xp_heap_thread_exit(void)
{
    uint64_t signals;

    xp_os_block_signals(&signals);
    struct xp_heap *heap = xp_slow_enter_last();
    if (heap) {
        xp_heap_rest(heap);
        atomic_store_explicit(&heap->in_slow, 0, memory_order_release);
    }
    xp_os_restore_signals(&signals);
}

void xp_heap_fork_child(const struct xp_heap *mine)
{
    for (struct xp_heap *heap = atomic_load_explicit(&xp_heaps, memory_order_acquire); heap;
         heap = heap->next) {
        if (heap == mine || heap->serial == 0 ||
            atomic_load_explicit(&heap->life, memory_order_relaxed) != XP_HEAP_ACTIVE)
            continue;
        if (atomic_load_explicit(&heap->in_slow, memory_order_relaxed) ||
            atomic_load_explicit(&heap->visited, memory_order_relaxed)) {
            xp_heap_abandon(heap);
            continue;
        }
        rest_locked(heap);
    }
    xp_share_divide();
}
