/* SPDX-License-Identifier: MIT */
/* fork.c - a child starts with free locks, its own heap, and the heaps of the others at rest. */
#include "core/fork.h"

#include "base/lock.h"
#include "base/meta.h"
#include "base/os.h"
#include "core/heap.h"
#include "core/locks.h"
#include "core/sampled.h"
#include "core/slow.h"

/* fork() itself may take long in a large process; a second one waits for it. */
#define FORK_WAIT_NS ((uint64_t)10 * 1000 * 1000 * 1000)

/* One fork at a time. Outermost in the layer. */
static struct xp_lock fork_lock = XP_LOCK_INIT(XP_RANK_REGISTRY);

/* Tells of forks that no handler ran in; NULL when the kernel cannot. */
static _Atomic uint32_t *_Atomic alive;

void xp_fork_init(void)
{
    atomic_store_explicit(&alive, xp_meta_fork_word(), memory_order_release);
}

static void mark_alive(void)
{
    _Atomic uint32_t *word = atomic_load_explicit(&alive, memory_order_acquire);
    if (word)
        atomic_store_explicit(word, 1, memory_order_relaxed);
}

bool xp_fork_was_missed(void)
{
    _Atomic uint32_t *word = atomic_load_explicit(&alive, memory_order_relaxed);
    return word && atomic_load_explicit(word, memory_order_relaxed) == 0;
}

void xp_fork_catch_up(void)
{
    mark_alive(); /* first: what follows goes through slow paths */
    xp_locks_fork_child();
    xp_meta_fork_child();
    xp_lock_reset(&fork_lock);
    xp_sampled_fork_child();
    xp_slow_fork_child();
}

void xp_core_fork_prepare(void)
{
    struct xp_slow slow;

    /* So that this thread has a heap: handlers of other libraries allocate between prepare and
     * parent or child, when base's memory is locked. */
    xp_slow_enter(&slow);
    xp_slow_leave(&slow);
    if (!xp_locks_take_until(&fork_lock, xp_os_now_ns() + FORK_WAIT_NS))
        return; /* the child will find the wiped word */
    xp_slow_close();
    xp_locks_fork_prepare();
    xp_meta_fork_prepare();
}

void xp_core_fork_parent(void)
{
    if (!xp_lock_mine(&fork_lock))
        return;
    xp_meta_fork_parent();
    xp_locks_fork_parent();
    xp_slow_open();
    xp_lock_give(&fork_lock);
}

void xp_core_fork_child(void)
{
    if (xp_fork_was_missed() || xp_lock_mine(&fork_lock))
        xp_fork_catch_up();
}
