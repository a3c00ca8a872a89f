/* SPDX-License-Identifier: MIT */
/* thread.c - threads come, are told apart, and go. */
#include "preload/thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "base/meta.h"
#include "base/os.h"
#include "core/heap.h"
#include "preload/real.h"
#include "preload/start.h"

/* The kernel puts this much between an interrupted frame and its handler's at the very least. What
 * we call that calls malloc (libunwind) has larger frames as well. */
#define SIGNAL_FRAME_LEAST 512u

XP_TLS struct xp_thread *xp_thread_self;

struct xp_thread xp_thread_none = {.inside = 1};

static struct xp_pool structs = XP_POOL_INIT(XP_RANK_THREADS, sizeof(struct xp_thread));

static struct {
    pthread_key_t key;
    _Atomic bool has_key;    /* release in xp_thread_init(), acquire wherever key is used */
    _Atomic uint32_t serial; /* the last one given out */
} threads;

static struct xp_thread *take_struct(void)
{
    struct xp_thread *thread = xp_pool_take(&structs);

    if (!thread)
        return NULL;
    memset(thread, 0, sizeof(*thread));
    thread->serial = atomic_fetch_add_explicit(&threads.serial, 1, memory_order_relaxed) + 1;
    return thread;
}

/* xp_thread_self is xp_thread_none meanwhile, for handlers that interrupt it, and because a key
 * number of 32 and up makes pthread_setspecific() call calloc. */
static void settle_in(struct xp_thread *self)
{
    self->tid = xp_os_gettid();
    if (atomic_load_explicit(&threads.has_key, memory_order_acquire))
        pthread_setspecific(threads.key, self);
    xp_thread_self = self;
}

struct xp_thread *xp_thread_arrive(void)
{
    xp_thread_self = &xp_thread_none;
    struct xp_thread *self = take_struct();
    if (!self) {
        xp_thread_self = NULL;
        return &xp_thread_none;
    }
    settle_in(self);
    return self;
}

/* The destructors of other keys may still allocate: we come last, in the last round there is. */
static void thread_ends(void *arg)
{
    struct xp_thread *self = arg;

    if (++self->last_calls < PTHREAD_DESTRUCTOR_ITERATIONS &&
        pthread_setspecific(threads.key, self) == 0)
        return;
    xp_heap_thread_exit();
    xp_thread_self = &xp_thread_none;
    xp_pool_put(&structs, self);
}

bool xp_thread_nested_slow(struct xp_thread *self, uintptr_t before, uintptr_t frame)
{
    if (self == &xp_thread_none)
        return true;
    /* All of [before, stack_high) belongs to the stack that the marking frame lay on; a frame
     * running there has outlived it, and so has one that is not a handler's frame farther below.
     * Unless it runs on a signal stack inside that range. */
    return !(before < frame + SIGNAL_FRAME_LEAST && frame < self->capture.stack_high &&
             !xp_os_on_signal_stack());
}

void xp_thread_init(const void *arguments)
{
    struct xp_thread *self = xp_thread_get();

    if (pthread_key_create(&threads.key, thread_ends) == 0)
        atomic_store_explicit(&threads.has_key, true, memory_order_release);
    if (self == &xp_thread_none)
        return;
    if (atomic_load_explicit(&threads.has_key, memory_order_relaxed))
        pthread_setspecific(threads.key, self);
    xp_capture_thread_bounds(&self->capture, (uintptr_t)__builtin_frame_address(0),
                             (uintptr_t)arguments);
}

/* Runs first in a new thread and is gone, by a tail call, when the program's function runs. The
 * C library puts the thread's control block at the top of its stack. */
static void *thread_starts(void *arg)
{
    struct xp_thread *self = arg;

    xp_thread_self = &xp_thread_none;
    settle_in(self);
    xp_capture_thread_bounds(&self->capture, (uintptr_t)__builtin_frame_address(0),
                             xp_thread_pointer());
    return self->start(self->start_arg);
}

XP_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *),
                             void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))xp_real(
            XP_REAL_PTHREAD_CREATE);

    if (xp_mode() != XP_MODE_OWN)
        return real(thread, attr, start, arg);

    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    struct xp_thread *child = take_struct();
    xp_thread_leave(self, before);
    if (!child)
        return real(thread, attr, start, arg);

    child->start = start;
    child->start_arg = arg;
    int r = real(thread, attr, thread_starts, child);
    if (r != 0)
        xp_pool_put(&structs, child);
    return r;
}

void xp_thread_fork_prepare(void)
{
    xp_lock_take(&structs.lock);
}

void xp_thread_fork_parent(void)
{
    xp_lock_give(&structs.lock);
}

void xp_thread_fork_child(void)
{
    xp_lock_reset(&structs.lock);
}
