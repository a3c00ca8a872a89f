/* SPDX-License-Identifier: MIT */
/* thread.h - what we keep per thread, from its first slow path to its last.
 *
 * Layer preload; uses capture, core, base. Lock: XP_RANK_THREADS. */
#ifndef XP_PRELOAD_THREAD_H
#define XP_PRELOAD_THREAD_H

#include <sys/types.h>

#include "base/compiler.h"
#include "capture/capture.h"

struct xp_thread {
    struct xp_capture_thread capture;
    /* 0, or the frame of the slow path that this thread is in: what a signal handler that
     * interrupted it allocates has no stack taken and starts no dump. */
    volatile uintptr_t inside;
    uintptr_t fork_before;  /* what .inside was before fork's prepare */
    uint64_t fork_signals;  /* and what was blocked, while locks are held for it */
    uint32_t serial;        /* from 1; never used again */
    pid_t tid;              /* as the kernel calls it */
    bool uncounted;         /* a thread or a moment of ours: its allocations are not sampled */
    bool fork_nested;       /* between fork's prepare and parent: it came from within a slow path */
    bool fork_files;        /* meanwhile: libc's list of FILEs is locked by us */
    uint8_t last_calls;     /* rounds of thread-specific destructors seen */
    void *(*start)(void *); /* what the program wants to run in it, until it does */
    void *start_arg;
};

/* The second of the two words of static TLS. NULL until the thread's first slow path. */
extern XP_TLS struct xp_thread *xp_thread_self;

/* Stands for every thread that has no struct: before its first, without memory, after its end. Such
 * a thread is always inside. */
extern struct xp_thread xp_thread_none;

/* The calling thread's struct, made when it has none; xp_thread_none without memory. */
struct xp_thread *xp_thread_arrive(void);

XP_ALWAYS_INLINE struct xp_thread *xp_thread_get(void)
{
    struct xp_thread *self = xp_thread_self;
    return XP_LIKELY(self != NULL) ? self : xp_thread_arrive();
}

/* Marks the thread as being inside; the former mark goes back to xp_thread_leave(). */
XP_ALWAYS_INLINE uintptr_t xp_thread_enter(struct xp_thread *self)
{
    uintptr_t before = self->inside;
    self->inside = (uintptr_t)__builtin_frame_address(0);
    return before;
}

XP_ALWAYS_INLINE void xp_thread_leave(struct xp_thread *self, uintptr_t before)
{
    self->inside = before;
}

/* Is the mark that xp_thread_enter() found real? A handler that left a slow path by siglongjmp
 * leaves it behind: then the frame that set it is no longer on the stack. */
bool xp_thread_nested_slow(struct xp_thread *self, uintptr_t before, uintptr_t frame);

/* The same, written where nearly nobody is inside. The answer false makes a stale mark go away. */
#define xp_thread_is_nested(self, before)                                                          \
    (XP_UNLIKELY(*(before) != 0) && is_nested_marked((self), (before)))

XP_ALWAYS_INLINE bool is_nested_marked(struct xp_thread *self, uintptr_t *before)
{
    if (xp_thread_nested_slow(self, *before, (uintptr_t)__builtin_frame_address(0)))
        return true;
    *before = 0;
    return false;
}

/* From the constructor: the key that tells us of a thread's end, and the main thread's stack, whose
 * top is above arguments (argv). */
void xp_thread_init(const void *arguments);

void xp_thread_fork_prepare(void);
void xp_thread_fork_parent(void);
void xp_thread_fork_child(void);

#endif
