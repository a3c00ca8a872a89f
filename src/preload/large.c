/* SPDX-License-Identifier: MIT */
/* large.c - says where very large blocks are asked for. */
#include "preload/large.h"

#include "base/message.h"
#include "capture/capture.h"
#include "preload/thread.h"

/* Smaller blocks may come from the fast paths, where nobody looks. */
#define LIMIT_LEAST ((uint64_t)256 << 10)
/* A program that only ever asks for more becomes quiet; one that does so for good reports on. */
#define LIMIT_MOST ((uint64_t)8 << 30)
/* As many as a message has room for. */
#define FRAMES 31u

_Atomic uint64_t xp_large_limit = UINT64_MAX;

void xp_large_init(uint64_t limit)
{
    if (limit == 0)
        limit = UINT64_MAX;
    else if (limit < LIMIT_LEAST)
        limit = LIMIT_LEAST;
    atomic_store_explicit(&xp_large_limit, limit, memory_order_relaxed);
}

/* True for one caller per limit. */
static bool raise_limit(size_t size)
{
    uint64_t limit = atomic_load_explicit(&xp_large_limit, memory_order_relaxed);

    while (size >= limit && limit != UINT64_MAX) {
        uint64_t next = limit + limit / 8;
        if (next > LIMIT_MOST)
            next = limit > LIMIT_MOST ? limit : LIMIT_MOST;
        if (atomic_compare_exchange_weak_explicit(&xp_large_limit, &limit, next,
                                                  memory_order_relaxed, memory_order_relaxed))
            return true;
    }
    return false;
}

static size_t take_stack(const struct xp_call *call, uintptr_t *pcs)
{
    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    size_t count = 0;

    if (!xp_thread_is_nested(self, &before))
        count = xp_capture_pcs(&self->capture, &call->regs, pcs, FRAMES);
    xp_thread_leave(self, before);
    return count;
}

void xp_large_report(const void *block, size_t size, const struct xp_call *call)
{
    uintptr_t pcs[FRAMES];
    struct xp_message m;

    if (!raise_limit(size))
        return;
    size_t count = take_stack(call, pcs);
    xp_message_begin(&m);
    xp_out_text(&m.out, "libxprof: large alloc ");
    xp_out_unsigned(&m.out, size, 0);
    xp_out_text(&m.out, " bytes == 0x");
    xp_out_hex(&m.out, (uintptr_t)block, 0);
    xp_out_text(&m.out, " @");
    for (size_t i = 0; i < count; i++) {
        xp_out_text(&m.out, " 0x");
        xp_out_hex(&m.out, pcs[i], 0);
    }
    xp_message_end(&m);
}
