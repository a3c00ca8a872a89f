/* SPDX-License-Identifier: MIT */
/* slow.c - the gate of every slow path: whose heap it works on, and what if there is none. */
#include "core/slow.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/os.h"
#include "core/fork.h"
#include "core/heap.h"
#include "core/limits.h"
#include "core/locks.h"
#include "core/remote.h"
#include "core/restart.h"

#define COOKIE ((uintptr_t)0x5a17c0de9b3d4f61u)
/* The kernel puts this much between an interrupted frame and its handler's at the very least. */
#define SIGNAL_FRAME_LEAST 512u
/* Two addresses farther apart need not lie on one stack. */
#define STACK_NEAR ((uintptr_t)8 << 20)

/* Nothing is ever taken from these two, so the word only has to be writable. */
static uint64_t no_restart;
static struct xp_front empty_front = {.restart = &no_restart, .kind = XP_FRONT_EMPTY};
static struct xp_front exited_front = {.restart = &no_restart, .kind = XP_FRONT_EXITED};

XP_TLS struct xp_front *xp_tls_front = &empty_front;

struct xp_lock xp_fallback_lock = XP_LOCK_INIT(XP_RANK_FALLBACK);
_Atomic uint64_t xp_emergency_calls;

static struct {
    _Atomic uint32_t closed;  /* futex: slow paths wait while it is 1 */
    _Atomic uintptr_t closer; /* the thread that forks */
    struct xp_heap *fallback; /* under its lock */
} gate;

/* NULL: the front is not a heap's. */
static struct xp_heap *heap_of(struct xp_front *front)
{
    return front->kind == XP_FRONT_HEAP     ? xp_heap_of_front(front)
           : front->kind == XP_FRONT_SHADOW ? xp_heap_of_shadow(front)
                                            : NULL;
}

/* The kernel's part of a fork takes long in a large process. */
#define FORK_MOST_NS ((uint64_t)10 * 1000 * 1000 * 1000)

static void wait_for_fork(struct xp_heap *heap)
{
    /* seq_cst here and in xp_slow_close(): one of the two sees the other. */
    while (atomic_load_explicit(&gate.closed, memory_order_seq_cst) &&
           atomic_load_explicit(&gate.closer, memory_order_relaxed) != xp_thread_pointer()) {
        atomic_store_explicit(&heap->in_slow, 0, memory_order_release);
        int r = xp_os_futex_wait(&gate.closed, 1, FORK_MOST_NS);
        if (r == -ETIMEDOUT)
            xp_slow_open(); /* the forking thread left by a jump; this happens once */
        atomic_exchange_explicit(&heap->in_slow, 1, memory_order_seq_cst);
    }
}

/* The thread goes on with another one. */
static void abandon(struct xp_heap *heap)
{
    xp_heap_abandon(heap);
    atomic_store_explicit(&heap->in_slow, 0, memory_order_release);
    xp_tls_front = &empty_front;
}

/* Visits are short. A heap whose visitor is not back in time is left to it for ever. */
static bool wait_for_visitor(struct xp_heap *heap)
{
    uint64_t end = 0;

    for (int spin = 0; atomic_load_explicit(&heap->visited, memory_order_seq_cst); spin++) {
        if (spin < 256) {
            xp_relax();
            continue;
        }
        uint64_t now = xp_os_now_ns();
        if (end == 0)
            end = now + XP_WAIT_NS;
        if (now > end)
            return false;
        xp_os_sleep_ns(20 * 1000);
    }
    return true;
}

/* False: the heap cannot be had any more. */
static bool enter_own(struct xp_slow *slow, struct xp_heap *heap)
{
    slow->heap = heap;
    slow->fallback = false;
    slow->cookie = COOKIE ^ (uintptr_t)slow;
    /* The frame is looked at while the shadow is there, so it is set before. A handler that runs
     * between the two stores goes through here itself, and puts our frame back when it leaves. */
    slow->outer = atomic_load_explicit(&heap->frame, memory_order_relaxed);
    atomic_store_explicit(&heap->frame, slow, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    xp_tls_front = &heap->shadow;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_exchange_explicit(&heap->in_slow, 1, memory_order_seq_cst);
    if (XP_UNLIKELY(xp_fork_was_missed()))
        xp_fork_catch_up(); /* opens the gate that the parent may have closed */
    if (XP_UNLIKELY(atomic_load_explicit(&gate.closed, memory_order_seq_cst)))
        wait_for_fork(heap);
    if (XP_UNLIKELY(atomic_load_explicit(&heap->visited, memory_order_seq_cst)) &&
        !wait_for_visitor(heap)) {
        abandon(heap);
        return false;
    }
    if (heap->cache.front.batch)
        xp_remote_flush(heap);
    xp_count(&heap->slow_calls);
    return true;
}

static void enter_emergency(struct xp_slow *slow)
{
    slow->heap = NULL;
    slow->fallback = false;
    atomic_fetch_add_explicit(&xp_emergency_calls, 1, memory_order_relaxed);
}

static void enter_fallback(struct xp_slow *slow)
{
    xp_start_ensure();
    if (XP_UNLIKELY(xp_fork_was_missed()))
        xp_fork_catch_up();
    if (xp_limits_lock(&xp_fallback_lock) < 0) {
        enter_emergency(slow);
        return;
    }
    if (!gate.fallback) {
        gate.fallback = xp_heap_create();
        if (gate.fallback)
            atomic_store_explicit(&gate.fallback->life, XP_HEAP_SHARED, memory_order_relaxed);
    }
    slow->heap = gate.fallback;
    slow->fallback = true;
    if (!slow->heap) {
        xp_lock_give(&xp_fallback_lock);
        enter_emergency(slow);
        return;
    }
    xp_count(&slow->heap->slow_calls);
}

static void enter_new(struct xp_slow *slow)
{
    uint64_t signals;

    /* Nothing shows a handler that this thread is in here: it must not come. */
    xp_os_block_signals(&signals);
    xp_start_ensure();
    struct xp_heap *heap = xp_heap_adopt();
    if (heap) {
        uint64_t *word = xp_restart_word();
        heap->cache.front.restart = word ? word : &heap->no_restart;
        atomic_store_explicit(&heap->tid, xp_os_gettid(), memory_order_relaxed);
    }
    bool entered = heap && enter_own(slow, heap);
    xp_os_restore_signals(&signals);
    if (!entered)
        enter_emergency(slow);
}

/* Is the slow path that owns the shadow still there, below us on some stack? Or did a handler leave
 * it by siglongjmp? Then other frames may lie there by now, which sanitizers guard. */
__attribute__((no_sanitize("address"), no_sanitize("thread"))) static bool
frame_is_there(const struct xp_heap *heap, const struct xp_slow *now)
{
    struct xp_slow *frame = atomic_load_explicit(&heap->frame, memory_order_relaxed);
    uintptr_t there = (uintptr_t)frame, here = (uintptr_t)now;

    if (!xp_os_readable(frame, sizeof(*frame)) || frame->cookie != (COOKIE ^ there))
        return false;
    if (here <= there)
        return there - here >= SIGNAL_FRAME_LEAST;
    return here - there > STACK_NEAR || xp_os_on_signal_stack();
}

/* The frame is gone, what it held is ours to give back: the structures under our locks are whole
 * after every step. The heap is not, so it is left alone for ever. */
static void recover(struct xp_heap *heap)
{
    xp_locks_give_mine();
    abandon(heap);
}

static XP_NOINLINE void enter_nested(struct xp_slow *slow, struct xp_heap *heap)
{
    if (frame_is_there(heap, slow)) {
        enter_emergency(slow);
        return;
    }
    recover(heap);
    enter_new(slow);
}

void xp_slow_enter(struct xp_slow *slow)
{
    struct xp_front *front = xp_tls_front;

    if (XP_LIKELY(front->kind == XP_FRONT_HEAP)) {
        if (XP_UNLIKELY(!enter_own(slow, xp_heap_of_front(front))))
            enter_new(slow);
    } else if (front->kind == XP_FRONT_SHADOW)
        enter_nested(slow, xp_heap_of_shadow(front));
    else if (front->kind == XP_FRONT_EXITED)
        enter_fallback(slow);
    else
        enter_new(slow);
}

void xp_slow_leave(struct xp_slow *slow)
{
    struct xp_heap *heap = slow->heap;

    if (!heap)
        return;
    if (XP_UNLIKELY(slow->fallback)) {
        xp_lock_give(&xp_fallback_lock);
        return;
    }
    atomic_store_explicit(&heap->in_slow, 0, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    xp_tls_front = &heap->cache.front;
    atomic_signal_fence(memory_order_seq_cst);
    atomic_store_explicit(&heap->frame, slow->outer, memory_order_relaxed);
}

bool xp_slow_inside(void)
{
    return xp_tls_front->kind == XP_FRONT_SHADOW;
}

struct xp_heap *xp_slow_enter_last(void)
{
    struct xp_front *front = xp_tls_front;
    struct xp_heap *heap = NULL;

    if (front->kind == XP_FRONT_HEAP) {
        struct xp_slow slow;
        heap = xp_heap_of_front(front);
        if (enter_own(&slow, heap))
            atomic_store_explicit(&heap->frame, NULL, memory_order_relaxed);
        else
            heap = NULL;
    } else if (front->kind == XP_FRONT_SHADOW) {
        recover(xp_heap_of_shadow(front)); /* the thread ends, so the frame will not go on */
    }
    xp_tls_front = &exited_front;
    return heap;
}

void xp_slow_distrust_fallback(void)
{
    if (gate.fallback) {
        atomic_store_explicit(&gate.fallback->life, XP_HEAP_ABANDONED, memory_order_relaxed);
        atomic_fetch_add_explicit(&xp_heaps_abandoned, 1, memory_order_relaxed);
    }
    gate.fallback = NULL;
}

void xp_slow_close(void)
{
    uintptr_t me = xp_thread_pointer();
    struct xp_front *front = xp_tls_front;
    const struct xp_heap *mine = heap_of(front);

    atomic_store_explicit(&gate.closer, me, memory_order_relaxed);
    atomic_exchange_explicit(&gate.closed, 1, memory_order_seq_cst);
    uint64_t end = xp_os_now_ns() + XP_WAIT_NS;
    struct xp_heap *heap = atomic_load_explicit(&xp_heaps, memory_order_acquire);
    for (; heap; heap = heap->next) {
        if (heap == mine ||
            atomic_load_explicit(&heap->life, memory_order_relaxed) != XP_HEAP_ACTIVE)
            continue;
        for (int spin = 0; atomic_load_explicit(&heap->in_slow, memory_order_seq_cst) ||
                           atomic_load_explicit(&heap->visited, memory_order_seq_cst);
             spin++) {
            if (spin < 128) {
                xp_relax();
                continue;
            }
            if (xp_os_now_ns() > end)
                break; /* the child abandons it */
            xp_os_sleep_ns(50 * 1000);
        }
    }
}

void xp_slow_open(void)
{
    atomic_store_explicit(&gate.closed, 0, memory_order_release);
    xp_os_futex_wake(&gate.closed, INT32_MAX);
}

void xp_slow_fork_child(void)
{
    struct xp_front *front = xp_tls_front;

    atomic_store_explicit(&gate.closed, 0, memory_order_relaxed);
    /* A visitor that the fork did not wait for is not here. */
    struct xp_heap *mine = heap_of(front);
    if (mine)
        atomic_store_explicit(&mine->tid, xp_os_gettid(), memory_order_relaxed);
    if (front->kind == XP_FRONT_HEAP && atomic_load_explicit(&mine->visited, memory_order_relaxed))
        abandon(mine);
    xp_heap_fork_child(mine);
}
