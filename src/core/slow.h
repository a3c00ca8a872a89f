/* SPDX-License-Identifier: MIT */
/* slow.h - the gate of every slow path: whose heap it works on, and what if there is none.
 *
 * Layer core. Inside, the thread's pointer leads to the heap's shadow, so a signal handler that
 * comes in between finds empty lists, comes here too, and is sent to the emergency path. */
#ifndef XP_CORE_SLOW_H
#define XP_CORE_SLOW_H

#include "core/state.h"

struct xp_slow {
    struct xp_heap *heap;  /* NULL: emergency, no heap and no lock may be used */
    bool fallback;         /* the heap is the shared one; its lock is held */
    struct xp_slow *outer; /* what the heap's frame was before */
    uintptr_t cookie;      /* says that this frame is still there */
};

void xp_slow_enter(struct xp_slow *slow);
void xp_slow_leave(struct xp_slow *slow);

/* True while the calling thread is inside a slow path, as a signal handler sees it. */
bool xp_slow_inside(void);

/* The calling thread enters for the last time, signals blocked: from here on it has no heap of its
 * own. Returns the one it had, or NULL. */
struct xp_heap *xp_slow_enter_last(void);

/* The fallback lock is held, and a frame that held it before vanished. */
void xp_slow_distrust_fallback(void);

/* Everything is set up: options, arena, sampling. Cheap once it is. */
void xp_start_ensure(void);

/* fork: new slow paths wait at the gate, those inside are waited for, at most XP_WAIT_NS each. */
void xp_slow_close(void);
void xp_slow_open(void);
/* In the child. */
void xp_slow_fork_child(void);

extern struct xp_lock xp_fallback_lock;
extern _Atomic uint64_t xp_emergency_calls;

#endif
