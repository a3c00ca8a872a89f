/* SPDX-License-Identifier: MIT */
/* sweep.c - what heaps hold and do not use goes back: idle classes, threads that sleep. */
#include "core/sweep.h"

#include "base/os.h"
#include "core/arena.h"
#include "core/purge.h"
#include "core/sampling.h"
#include "core/slow.h"

/* How often a heap looks at itself, and somebody at the others. */
#define OWN_PERIOD_NS    ((uint64_t)100 * 1000 * 1000)
#define OTHERS_PERIOD_NS ((uint64_t)20 * 1000 * 1000)
/* Without a slow path for so long, the thread may sleep. */
#define IDLE_NS ((uint64_t)50 * 1000 * 1000)
/* A thread that runs without slow paths is looked after this often. */
#define BUSY_PERIOD_NS ((uint64_t)1000 * 1000 * 1000)
/* A clock that stands still so long counts ticks. */
#define CLOCK_STEP_NS ((uint64_t)20 * 1000)
/* One look is short: so many pages of the caller's heap, heaps of others, and pages of theirs. */
#define OWN_PAGES    256u
#define OTHERS       16u
#define OTHERS_PAGES 1024u

static struct {
    _Atomic uint64_t due;             /* coarse clock */
    _Atomic bool busy;                /* one looks after all; signals are blocked meanwhile */
    struct xp_heap *_Atomic next_one; /* of the busy one; NULL: the newest */
} state;

/* ---- the caller's own heap ---- */

static void *top_of(const struct xp_heap *heap, unsigned class)
{
    if (class < XP_SMALL_CLASSES)
        return heap->cache.front.list[class];
    const struct xp_magazine *magazine = &heap->cache.magazine[class - XP_SMALL_CLASSES];
    return magazine->count ? magazine->slots[magazine->count - 1] : NULL;
}

/* Lists that nobody took from since the last time go back; those with a sample that is due keep
 * their countdown. Then pages without a block in use. */
static void sweep_own(struct xp_heap *heap)
{
    bool round;

    for (unsigned class = 0; class < XP_CLASSES; class ++) {
        void *top = top_of(heap, class);
        if (top && top == heap->swept_top[class]) {
            xp_heap_flush_class(heap, class);
            top = NULL;
        }
        heap->swept_top[class] = top;
    }
    xp_heap_give_pages(xp_heap_scan(heap, OWN_PAGES, true, &round));
}

/* ---- heaps of threads that sleep ---- */

struct taken {
    void *list[XP_SMALL_CLASSES];
    void *pending[XP_SMALL_CLASSES];
    void *batch;
    void *slots[XP_MEDIUM_CLASSES][XP_MAGAZINE];
    unsigned count[XP_MEDIUM_CLASSES];
};

/* The front belongs to a thread that may go on at any moment, without a word to us. If it has used
 * no CPU time between before and after, it was not there: operations of the fast path that are cut
 * off by the scheduler start over (core/restart.h), and find empty lists. Did it run, nobody can
 * tell whose the blocks are, and they are lost: a few, once in a long while. */
static bool take_front(struct xp_heap *heap, uint64_t cpu_ns, struct taken *taken)
{
    struct xp_front *front = &heap->cache.front;
    int32_t tid = atomic_load_explicit(&heap->tid, memory_order_relaxed);

    for (unsigned i = 0; i < XP_MEDIUM_CLASSES; i++) {
        struct xp_magazine *magazine = &heap->cache.magazine[i];
        unsigned count = __atomic_load_n(&magazine->count, __ATOMIC_RELAXED);
        for (unsigned k = 0; k < count; k++)
            taken->slots[i][k] = magazine->slots[k];
        taken->count[i] = __atomic_exchange_n(&magazine->count, 0, __ATOMIC_SEQ_CST);
        if (taken->count[i] > count)
            taken->count[i] = count;
    }
    /* In this order: a batch that begins in between keeps its blocks, and the page of an empty one
     * never stays, which could be anything by the time that the next block comes. */
    taken->batch = __atomic_exchange_n(&front->batch, NULL, __ATOMIC_SEQ_CST);
    __atomic_store_n(&front->batch_page, NULL, __ATOMIC_RELEASE);
    for (unsigned class = 0; class < XP_SMALL_CLASSES; class ++) {
        taken->list[class] = __atomic_exchange_n(&front->list[class], NULL, __ATOMIC_SEQ_CST);
        taken->pending[class] = heap->pending[class];
        heap->pending[class] = NULL;
        heap->pending_count[class] = 0;
    }
    return xp_os_thread_cpu_ns_of(tid) == cpu_ns;
}

static void free_one(void *block)
{
    xp_heap_free_remote(xp_arena_page_of(block), block, block, 1, false);
}

static void free_chain(void *block)
{
    while (block) {
        void *next = xp_block_next(block);
        free_one(block);
        block = next;
    }
}

static void free_taken(const struct taken *taken)
{
    for (unsigned class = 0; class < XP_SMALL_CLASSES; class ++)
        free_chain(taken->list[class]);
    free_chain(taken->batch);
    for (unsigned i = 0; i < XP_MEDIUM_CLASSES; i++) {
        for (unsigned k = 0; k < taken->count[i]; k++)
            free_one(taken->slots[i][k]);
    }
}

/* Where the kernel has no better clock than its ticks, a thread may run and not be seen to. */
static bool cpu_clock_is_fine(void)
{
    static bool is_fine; /* of the busy one, as is the next */
    static bool is_known;

    if (!is_known) {
        uint64_t cpu = xp_os_thread_cpu_ns(), end = xp_os_now_ns() + CLOCK_STEP_NS;
        do {
            is_fine = xp_os_thread_cpu_ns() != cpu;
        } while (!is_fine && xp_os_now_ns() < end);
        is_known = true;
    }
    return is_fine;
}

/* Its thread was not seen to run since the last look. */
static void empty_front(struct xp_heap *heap, uint64_t cpu_ns)
{
    static struct taken taken; /* of the busy one */

    if (cpu_ns == 0 || heap->cache.front.restart == &heap->no_restart || !cpu_clock_is_fine() ||
        !xp_heap_visit(heap))
        return;
    bool ours = take_front(heap, cpu_ns, &taken);
    for (unsigned class = 0; ours && class < XP_SMALL_CLASSES; class ++)
        xp_sampling_put_back(heap, class, taken.list[class]);
    xp_heap_leave(heap);
    for (unsigned class = 0; class < XP_SMALL_CLASSES; class ++)
        free_chain(taken.pending[class]);
    if (ours)
        free_taken(&taken);
}

/* True when its pages were all looked at. */
static bool scan_pages(struct xp_heap *heap)
{
    bool round;

    if (!xp_heap_visit(heap))
        return false;
    struct xp_page *pages = xp_heap_scan(heap, OTHERS_PAGES, true, &round);
    xp_heap_leave(heap);
    xp_heap_give_pages(pages);
    return round;
}

static void look_after(struct xp_heap *heap, uint64_t now_ns)
{
    struct xp_heap_watch *watch = &heap->watch;
    uint64_t calls = atomic_load_explicit(&heap->slow_calls, memory_order_relaxed);

    if (atomic_load_explicit(&heap->life, memory_order_relaxed) != XP_HEAP_ACTIVE)
        return;
    if (calls != watch->calls) {
        watch->calls = calls;
        watch->calls_at_ns = now_ns;
    }
    if (now_ns - watch->calls_at_ns < IDLE_NS)
        return;
    uint64_t cpu_ns =
        xp_os_thread_cpu_ns_of(atomic_load_explicit(&heap->tid, memory_order_relaxed));
    bool ran = cpu_ns != watch->cpu_ns;
    watch->cpu_ns = cpu_ns;
    if (watch->done_calls == calls &&
        (ran ? now_ns - watch->done_at_ns < BUSY_PERIOD_NS : watch->done_cpu_ns == cpu_ns))
        return;
    if (!ran)
        empty_front(heap, cpu_ns);
    if (scan_pages(heap)) {
        watch->done_calls = calls;
        watch->done_cpu_ns = ran ? 0 : cpu_ns;
        watch->done_at_ns = now_ns;
    }
}

static void sweep_others(const struct xp_heap *mine, uint64_t now_ns, unsigned heaps)
{
    uint64_t signals;
    struct xp_heap *heap = atomic_load_explicit(&state.next_one, memory_order_relaxed);

    xp_os_block_signals(&signals);
    if (!atomic_exchange_explicit(&state.busy, true, memory_order_acquire)) {
        if (!heap)
            heap = atomic_load_explicit(&xp_heaps, memory_order_acquire);
        for (; heap && heaps > 0; heaps--, heap = heap->next) {
            if (heap != mine)
                look_after(heap, now_ns);
        }
        atomic_store_explicit(&state.next_one, heap, memory_order_relaxed);
        atomic_store_explicit(&state.busy, false, memory_order_release);
    }
    xp_os_restore_signals(&signals);
}

void xp_sweep_if_due(struct xp_heap *heap)
{
    uint64_t now = xp_os_now_coarse_ns();

    if (now - heap->swept_ns >= OWN_PERIOD_NS) {
        heap->swept_ns = now;
        sweep_own(heap);
    }
    uint64_t due = atomic_load_explicit(&state.due, memory_order_relaxed);
    if (now >= due &&
        atomic_compare_exchange_strong_explicit(&state.due, &due, now + OTHERS_PERIOD_NS,
                                                memory_order_relaxed, memory_order_relaxed))
        sweep_others(heap, now, OTHERS);
    xp_purge_if_due(now);
}

void xp_sweep(void)
{
    struct xp_slow slow;

    xp_slow_enter(&slow);
    if (slow.heap)
        xp_sweep_if_due(slow.heap);
    xp_slow_leave(&slow);
}
