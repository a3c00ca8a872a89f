/* SPDX-License-Identifier: MIT */
/* verify.c - our stacks against libunwind's. */
#include "capture/verify.h"

#include <string.h>

#include "capture/reference.h"

#define KEPT_MAX 16u

enum kept_state { KEPT_FREE, KEPT_WRITING, KEPT_READY };

static struct {
    _Atomic uint32_t state[KEPT_MAX];
    struct xp_capture_difference kept[KEPT_MAX]; /* the first ones; never overwritten */
} verify XP_BULK;

static size_t copy_frames(uintptr_t *to, const uintptr_t *from, size_t count)
{
    size_t copied = count < XP_DIFFERENCE_FRAMES ? count : XP_DIFFERENCE_FRAMES;

    memcpy(to, from, copied * sizeof(*to));
    return copied;
}

static void keep(const uintptr_t *ours, size_t ours_count, const uintptr_t *theirs,
                 size_t theirs_count, size_t first)
{
    for (unsigned i = 0; i < KEPT_MAX; i++) {
        uint32_t state = KEPT_FREE;
        if (!atomic_compare_exchange_strong_explicit(&verify.state[i], &state, KEPT_WRITING,
                                                     memory_order_relaxed, memory_order_relaxed))
            continue;
        struct xp_capture_difference *kept = &verify.kept[i];
        /* What led up to the difference is more telling than the leaves. */
        size_t skip = first < XP_DIFFERENCE_FRAMES / 2 ? 0 : first - XP_DIFFERENCE_FRAMES / 2;
        kept->first = first;
        kept->skipped = skip;
        kept->ours_count = copy_frames(kept->ours, ours + skip, ours_count - skip);
        kept->theirs_count = copy_frames(kept->theirs, theirs + skip, theirs_count - skip);
        /* release: pairs with xp_capture_differences(). */
        atomic_store_explicit(&verify.state[i], KEPT_READY, memory_order_release);
        return;
    }
}

static bool compare(const struct xp_regs *regs, const uintptr_t *pcs,
                    const struct xp_walk_result *result, uintptr_t *theirs, size_t depth)
{
    bool cut = false;
    size_t theirs_count = xp_reference_walk(regs, theirs, depth, &cut);
    size_t first = 0;

    while (first < result->certain && first < theirs_count && pcs[first] == theirs[first])
        first++;
    /* Past a guess everybody may think differently. */
    if (first == result->certain && (!result->exact || theirs_count == result->count))
        return true;
    keep(pcs, result->count, theirs, theirs_count, first);
    return false;
}

/* The buffer is as large as need be: signal stacks are small. */
static XP_NOINLINE bool compare_small(const struct xp_regs *regs, const uintptr_t *pcs,
                                      const struct xp_walk_result *result, size_t depth)
{
    uintptr_t theirs[XP_DEPTH_DEFAULT];
    return compare(regs, pcs, result, theirs, depth);
}

static XP_NOINLINE bool compare_large(const struct xp_regs *regs, const uintptr_t *pcs,
                                      const struct xp_walk_result *result, size_t depth)
{
    uintptr_t theirs[XP_DEPTH_MAX];
    return compare(regs, pcs, result, theirs, depth);
}

bool xp_verify(const struct xp_regs *regs, const uintptr_t *pcs,
               const struct xp_walk_result *result, size_t depth)
{
    return depth <= XP_DEPTH_DEFAULT ? compare_small(regs, pcs, result, depth)
                                     : compare_large(regs, pcs, result, depth);
}

size_t xp_capture_differences(struct xp_capture_difference *ret_differences, size_t max)
{
    size_t count = 0;

    for (unsigned i = 0; i < KEPT_MAX && count < max; i++) {
        if (atomic_load_explicit(&verify.state[i], memory_order_acquire) == KEPT_READY)
            ret_differences[count++] = verify.kept[i];
    }
    return count;
}
