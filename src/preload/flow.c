/* SPDX-License-Identifier: MIT */
/* flow.c - the life of a block past the fast paths. */
#include "preload/flow.h"

#include <string.h>

#include "base/os.h"
#include "core/heap.h"
#include "preload/foreign.h"
#include "preload/large.h"
#include "preload/process.h"
#include "preload/start.h"
#include "preload/thread.h"
#include "preload/helper.h"
#include "profile/profile.h"

/* Everything between xp_thread_enter() and xp_thread_leave() happens with the thread marked as
 * being inside: a signal handler that interrupts us there may find locks of ours taken by its own
 * thread, so its allocations take no stack and write no dump. */

static void fill_record(struct xp_record *record, struct xp_thread *self, bool nested, size_t size,
                        const struct xp_due *due, const struct xp_call *call)
{
    unsigned flags;

    *record = (struct xp_record){
        .size = size,
        .weight = due->weight,
        .time_ns = xp_os_now_ns(),
        .node = XP_NODE_NESTED,
        .thread = self->serial,
        .row_class = due->row_class,
        .entry = (uint8_t)call->entry,
    };
    if (!nested)
        record->node = xp_capture(&self->capture, &call->regs, call->entry_pc, &flags);
}

/* After a sample was made or freed. */
static void dump_if_due(bool nested)
{
    if (XP_UNLIKELY(xp_profile_dump_due()) && !nested && xp_process_is_mine())
        xp_profile_dump_if_due();
}

XP_COLD static void *alloc_due(struct xp_thread *self, bool nested, size_t size, size_t align,
                               unsigned flags, const struct xp_due *due, const struct xp_call *call)
{
    struct xp_record record;

    if (XP_UNLIKELY(xp_process_was_forked()) && !nested)
        xp_process_is_mine();
    fill_record(&record, self, nested, size, due, call);
    void *block = xp_heap_alloc_sampled(size, align, flags, &record);
    if (XP_UNLIKELY(!block)) {
        /* Its free will not be known: it is in the sums, and never in use. */
        block = xp_heap_alloc_unsampled(size, align, flags);
        if (!block)
            return NULL;
        xp_profile_note_free(&record);
    }
    xp_profile_note_alloc(&record);
    dump_if_due(nested);
    return block;
}

XP_COLD static void *alloc_not_own(size_t size, size_t align, unsigned flags,
                                   const struct xp_call *call)
{
    switch (xp_start()) {
    case XP_MODE_OWN:
        return xp_flow_alloc(size, align, flags, call);
    case XP_MODE_PASS:
        return xp_pass_alloc(size, align, flags & XP_ALLOC_ZERO);
    default:
        return xp_heap_alloc_unsampled(size, align, flags);
    }
}

void *xp_flow_alloc(size_t size, size_t align, unsigned flags, const struct xp_call *call)
{
    void *block = NULL;
    struct xp_due due;

    if (XP_UNLIKELY(xp_mode() != XP_MODE_OWN))
        return alloc_not_own(size, align, flags, call);

    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    if (XP_UNLIKELY(self->uncounted)) {
        block = xp_heap_alloc_unsampled(size, align, flags);
    } else {
        int r = xp_heap_alloc_slow(size, align, flags, &block, &due);
        if (r < 0)
            block = NULL;
        else if (r == XP_DUE)
            block =
                alloc_due(self, xp_thread_is_nested(self, &before), size, align, flags, &due, call);
        if (XP_UNLIKELY(atomic_load_explicit(&xp_helper_waiting, memory_order_relaxed)) &&
            !xp_thread_is_nested(self, &before))
            xp_helper_serve();
    }
    xp_thread_leave(self, before);
    xp_large_look(block, size, call);
    return block;
}

static void note_free(struct xp_thread *self, uintptr_t *before, const struct xp_record *record)
{
    xp_profile_note_free(record);
    dump_if_due(xp_thread_is_nested(self, before));
}

XP_COLD static void free_rare(void *p, enum xp_free_result result, const struct xp_record *record)
{
    struct xp_thread *self;
    uintptr_t before;

    switch (result) {
    case XP_FREE_DONE:
        break;
    case XP_FREE_SAMPLED:
        self = xp_thread_get();
        before = xp_thread_enter(self);
        note_free(self, &before, record);
        xp_heap_release_sampled(p);
        xp_thread_leave(self, before);
        break;
    case XP_FREE_FOREIGN:
        xp_foreign_free(p);
        break;
    case XP_FREE_INVALID:
        xp_foreign_invalid(p);
        break;
    }
}

void xp_flow_free(void *p)
{
    struct xp_record record;

    if (XP_UNLIKELY(xp_mode() == XP_MODE_PASS)) {
        xp_pass_free(p);
        return;
    }
    /* Threads that only free need no struct; then a handler over this line finds none either. */
    struct xp_thread *self = xp_thread_self;
    uintptr_t before = self ? xp_thread_enter(self) : 0;
    enum xp_free_result result = xp_heap_free_slow(p, &record);
    if (self)
        xp_thread_leave(self, before);
    if (XP_UNLIKELY(result != XP_FREE_DONE))
        free_rare(p, result, &record);
}

/* The pages of p served for the new size, moved or not: for the samples that is a free and an
 * allocation. */
static void *resized(void *block, size_t new_size, const struct xp_record *old, bool had_record,
                     const struct xp_due *due, bool is_due, const struct xp_call *call)
{
    struct xp_record record;

    if (!had_record && !is_due)
        return block;
    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    bool nested = xp_thread_is_nested(self, &before);
    if (had_record)
        xp_profile_note_free(old);
    if (is_due) {
        fill_record(&record, self, nested, new_size, due, call);
        xp_heap_attach_record(block, &record);
        xp_profile_note_alloc(&record);
    }
    dump_if_due(nested);
    xp_thread_leave(self, before);
    return block;
}

void *xp_flow_realloc(void *p, size_t new_size, const struct xp_call *call)
{
    struct xp_record record;
    struct xp_due due;
    bool had_record = false, is_due = false;
    void *block;

    if (XP_UNLIKELY(xp_mode() == XP_MODE_PASS))
        return xp_pass_realloc(p, new_size);
    if (XP_UNLIKELY(!xp_heap_owns(p)))
        return xp_foreign_realloc(p, new_size);
    if (new_size > PTRDIFF_MAX)
        return NULL;
    if (xp_heap_resize_stay(p, new_size))
        return p;
    if (xp_heap_resize_pages(p, new_size, &block, &record, &had_record, &due, &is_due) == 0) {
        xp_large_look(block, new_size, call);
        return resized(block, new_size, &record, had_record, &due, is_due, call);
    }

    size_t old_size = xp_heap_usable_size(p, false);
    block = xp_flow_alloc(new_size, 0, 0, call);
    if (!block)
        return NULL;
    memcpy(block, p, old_size < new_size ? old_size : new_size);
    xp_flow_free(p);
    return block;
}

size_t xp_flow_usable_size(void *p)
{
    if (XP_UNLIKELY(xp_mode() == XP_MODE_PASS))
        return xp_pass_usable_size(p);
    return XP_LIKELY(xp_heap_owns(p)) ? xp_heap_usable_size(p, true) : xp_foreign_usable_size(p);
}
