/* SPDX-License-Identifier: MIT */
/* remote.c - frees in pages of other heaps: one by one, or in batches.
 *
 * Each heap has one batch: blocks of one small page of another heap, chained, that reach the page's
 * remote word by one compare-and-swap instead of one each. It begins with the second block in a row
 * for the same page. It goes when it is full, when a block for another page comes, in every slow
 * path of the thread, when the thread ends, and when others find it asleep (core/sweep.c). So a
 * thread that blocks for ever keeps XP_BATCH - 1 blocks of one page, and with them one slice, until
 * then. Medium pages, eight times as long, are not worth that. */
#include "core/remote.h"

#include "core/fast.h"
#include "core/layers.h"
#include "core/slow.h"
#include "core/stats.h"
#include "core/sweep.h"

void xp_remote_send(struct xp_front *front, struct xp_page *page, void *block)
{
    bool handler = front->kind == XP_FRONT_SHADOW;

    if (front->kind == XP_FRONT_HEAP)
        xp_count(&xp_heap_of_front(front)->remote_frees);
    else
        atomic_fetch_add_explicit(&xp_headless_frees, 1, memory_order_relaxed);
    if (XP_UNLIKELY(xp_heap_free_remote(page, block, block, 1, handler)) && !handler)
        xp_sweep(); /* who only frees makes memory free, too */
}

/* True when that released the page. */
static bool send_chain(struct xp_heap *heap, void *first)
{
    void *last = first;
    uint32_t blocks = 1;

    for (void *next; (next = xp_block_next(last)) != NULL; last = next)
        blocks++;
    xp_count_more(&heap->remote_frees, blocks);
    xp_count_more(&heap->batched_frees, blocks);
    return xp_heap_free_remote(xp_arena_page_of(first), first, last, blocks, false);
}

void xp_remote_publish(struct xp_front *front)
{
    void *first = xp_restart_take_batch(front, front->restart);

    front->batch_room = 1; /* if there still is one, it goes with the next block */
    if (first && send_chain(xp_heap_of_front(front), first))
        xp_sweep();
}

void xp_remote_flush(struct xp_heap *heap)
{
    struct xp_front *front = &heap->cache.front;
    void *first = front->batch;

    front->batch = NULL;
    front->batch_page = NULL;
    send_chain(heap, first);
}

bool xp_remote_free(void *p)
{
    struct xp_front *front = xp_tls_front;
    struct xp_page *page = xp_arena_page_of(p);

    if (!page)
        return false;
    /* acquire: what the page is, is written before who owns it. */
    uintptr_t owner = atomic_load_explicit(&page->owner, memory_order_acquire);

    if (owner < XP_OWNER_CONSTANTS || (owner & ~(uintptr_t)XP_OWNER_MEDIUM) == (uintptr_t)front)
        return false;
    if (front->kind == XP_FRONT_HEAP && xp_layer_works(XP_LAYER_BATCH) &&
        !(owner & XP_OWNER_MEDIUM)) {
        struct xp_heap *heap = xp_heap_of_front(front);
        if (front->batch)
            xp_remote_publish(front);
        if (heap->remote_page == page) {
            xp_block_link(p, NULL);
            if (xp_restart_begin_batch(front, page, p, front->restart)) {
                front->batch_room = XP_BATCH - 1;
                return true;
            }
        }
        heap->remote_page = page;
    }
    xp_remote_send(front, page, p);
    return true;
}
