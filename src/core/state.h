/* SPDX-License-Identifier: MIT */
/* state.h - a heap: what one thread owns of the allocator; and the list of all of them.
 *
 * Layer core. Heaps are never freed: a thread that exits leaves its heap resting, and the next new
 * thread adopts it. A heap whose thread vanished from a slow path is abandoned: nobody touches it
 * again. */
#ifndef XP_CORE_STATE_H
#define XP_CORE_STATE_H

#include "base/lock.h"
#include "base/rng.h"
#include "core/front.h"
#include "core/page.h"

enum xp_heap_life {
    XP_HEAP_ACTIVE,
    XP_HEAP_RESTING, /* changed under xp_resting_lock only */
    XP_HEAP_ABANDONED,
    XP_HEAP_SHARED, /* the one behind xp_fallback_lock */
};

/* What an allocation that took a slow path wanted. */
enum xp_slow_kind { XP_SLOW_SMALL, XP_SLOW_MEDIUM, XP_SLOW_LARGE, XP_SLOW_HUGE, XP_SLOW_KINDS };

struct xp_slow;

/* What was seen of a heap whose thread may sleep. */
struct xp_heap_watch {
    uint64_t calls, calls_at_ns; /* slow calls, and since when there were no more */
    uint64_t cpu_ns;             /* CPU time of its thread at the last look */
    uint64_t done_calls, done_cpu_ns, done_at_ns; /* at the end of the last whole round */
};

struct xp_heap {
    struct xp_cache cache;  /* first: the thread's pointer and the owner words are this address */
    struct xp_front shadow; /* stands in for the front inside slow paths */

    /* All below is the owner's alone, and only inside slow paths, if nothing else is said. */
    void *pending[XP_SMALL_CLASSES]; /* free blocks behind the cut; counted as out */
    uint32_t pending_count[XP_SMALL_CLASSES];
    /* Allocations until and with the sampled one, those in the list not counted: 1 means that the
     * next one after the list is due; 0: not drawn yet. Blocks that leave a list unallocated are
     * added again, so the draw belongs to the allocations and no flush moves it. */
    uint64_t left[XP_SMALL_CLASSES];
    double weight[XP_SMALL_CLASSES];   /* of the sampled one */
    double bytes_mean;                 /* T of the draw that bytes_left counts down; 0: not drawn */
    struct xp_page *queue[XP_CLASSES]; /* pages with free blocks; the first one is in use */
    uint32_t pages_made[XP_SMALL_CLASSES]; /* of the class, ever */
    struct xp_page *scan; /* where the search for empty pages goes on; NULL: at the next class */
    uint32_t scan_class;
    /* What the last sweep found: unchanged at the next one, it is idle. */
    void *swept_top[XP_CLASSES]; /* first of the list, last of the magazine */
    uint64_t swept_ns;
    /* Under a limit, core/share.c: bytes that the magazines may hold together, and counters. */
    size_t allowed_bytes;
    uint32_t share_turn, share_misses;
    struct xp_rng rng;
    uint32_t serial;                 /* dense, from 1 */
    uint64_t no_restart;             /* for threads without restartable sequences */
    _Atomic(struct xp_slow *) frame; /* read by signal handlers of the same thread */

    /* Read by others. */
    _Atomic uint32_t life;        /* enum xp_heap_life */
    _Atomic uint32_t in_slow;     /* 1 inside a slow path: fork waits for that */
    _Atomic uint32_t visited;     /* 1 while another thread looks after it, see xp_heap_visit() */
    _Atomic int32_t tid;          /* of its thread, for the kernel */
    struct xp_heap_watch watch;   /* of the one who looks after all heaps, core/sweep.c */
    struct xp_heap *next;         /* all heaps; set once */
    struct xp_heap *next_resting; /* under xp_resting_lock */
    struct xp_page *remote_page;  /* where the last block for another heap went, if not by batch */
    _Atomic uint64_t slow_calls, remote_frees, batched_frees, samples;
    _Atomic uint64_t slow_allocs[XP_SLOW_KINDS];
} XP_CACHE_ALIGNED;

/* All heaps, newest first; acquire. */
extern struct xp_heap *_Atomic xp_heaps;

extern struct xp_lock xp_resting_lock;

XP_ALWAYS_INLINE struct xp_heap *xp_heap_of_front(struct xp_front *front)
{
    return (struct xp_heap *)front;
}

XP_ALWAYS_INLINE struct xp_heap *xp_heap_of_shadow(struct xp_front *shadow)
{
    return (struct xp_heap *)((char *)shadow - offsetof(struct xp_heap, shadow));
}

/* Counters have one writer, or also the handlers of its thread: then one of the two is not counted
 * now and then. */
XP_ALWAYS_INLINE void xp_count_more(_Atomic uint64_t *counter, uint64_t amount)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + amount,
                          memory_order_relaxed);
}

XP_ALWAYS_INLINE void xp_count(_Atomic uint64_t *counter)
{
    xp_count_more(counter, 1);
}

/* A resting heap or a new one, active, for the calling thread. NULL without memory. Signals are
 * blocked meanwhile. */
struct xp_heap *xp_heap_adopt(void);
/* A new one that no thread has (for those that cannot have one). */
struct xp_heap *xp_heap_create(void);

/* ---- the calling thread owns the heap and is inside a slow path ---- */

/* Blocks of the class, chained, counted as out. NULL without memory. */
void *xp_heap_collect(struct xp_heap *heap, unsigned size_class, uint32_t *ret_count);
/* Frees a small or medium block, whoever owns its page. */
void xp_heap_free_block(struct xp_heap *heap, struct xp_page *page, void *block);
/* Lists, magazines and empty pages go back. */
void xp_heap_flush(struct xp_heap *heap);
/* The heap has no thread any more. */
void xp_heap_rest(struct xp_heap *heap);

/* ---- anyone ---- */

/* Nobody touches the heap again. */
void xp_heap_abandon(struct xp_heap *heap);

/* Frees a small or medium block of a page that the caller does not own. later: the caller is a
 * signal handler inside a slow path. True when the page was the last one's and is free now. */
bool xp_heap_free_remote(struct xp_page *page, void *first, void *last, uint32_t blocks,
                         bool later);

/* Another thread's active heap, if that thread is in no slow path: until xp_heap_leave() it stays
 * out of them. What only slow paths touch may be worked on meanwhile; not the front, and no page's
 * local word, which the thread goes on to change. Never waits. Signals are blocked, and the caller
 * is inside a slow path of its own, or blocks signals and is quick. */
bool xp_heap_visit(struct xp_heap *heap);
void xp_heap_leave(struct xp_heap *heap);

/* Looks at the next `pages` pages of the heap, its owner's or a visitor's, and takes empty ones
 * out, all or all but the last of a class: chained by next, to be given back by
 * xp_heap_give_pages(). True in *ret_round when it came by the last class. */
struct xp_page *xp_heap_scan(struct xp_heap *heap, unsigned pages, bool all, bool *ret_round);
void xp_heap_give_pages(struct xp_page *pages);

/* The list or magazine of one class goes back to its pages. */
void xp_heap_flush_class(struct xp_heap *heap, unsigned size_class);

/* In a forked child: heaps of threads that do not exist here rest, or are abandoned if they were
 * inside a slow path. mine may be NULL. */
void xp_heap_fork_child(const struct xp_heap *mine);

extern _Atomic uint64_t xp_heaps_adopted, xp_heaps_abandoned, xp_pages_stolen;

#endif
