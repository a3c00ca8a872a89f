/* SPDX-License-Identifier: MIT */
/* capture.c - the caller's registers in, a call-tree node out. */
#include "capture/capture.h"

#include "capture/code_map.h"
#include "capture/history.h"
#include "capture/reference.h"
#include "capture/rules.h"
#include "capture/verify.h"
#include "capture/walk.h"

/* Counters are spread over threads by their address: one shared line would be what threads in
 * exact mode wait for. */
#define STRIPES 16u

static struct {
    size_t depth; /* frames of the program; the entry point comes on top */
    uint32_t verify_every;
    bool use_libunwind, wants_reference;
    _Atomic uint32_t turn; /* captures since the last verification */
    struct stripe {
        XP_CACHE_ALIGNED _Atomic uint64_t captures;
        _Atomic uint64_t frames, rule_misses, guessed, cut, bad, no_cfi, tree_full;
    } stripes[STRIPES];
    _Atomic uint64_t verified, verify_differs;
} capture = {.depth = XP_DEPTH_DEFAULT - 1};

int xp_capture_init(const struct xp_capture_options *options)
{
    unsigned depth = options->depth ? options->depth : XP_DEPTH_DEFAULT;

    capture.depth = (depth < XP_DEPTH_MAX ? depth : XP_DEPTH_MAX) - 1;
    capture.verify_every = options->verify_every;
    capture.use_libunwind = options->use_libunwind;
    xp_walk_init();
    xp_history_init();
    int r = xp_tree_init(options->nodes_max);
    return r < 0 ? r : xp_rules_init();
}

int xp_capture_open_reference(void)
{
    return capture.verify_every || capture.use_libunwind ? xp_reference_open() : 0;
}

static void add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static void count(const struct xp_walk_result *result)
{
    struct stripe *stripe = &capture.stripes[(xp_thread_pointer() >> 12) % STRIPES];

    add(&stripe->captures, 1);
    add(&stripe->frames, result->count);
    if (XP_UNLIKELY(result->misses))
        add(&stripe->rule_misses, result->misses);
    if (XP_LIKELY(result->flags == 0))
        return;
    if (result->flags & XP_STACK_GUESSED)
        add(&stripe->guessed, 1);
    if (result->flags & XP_STACK_CUT)
        add(&stripe->cut, 1);
    if (result->flags & XP_STACK_BAD)
        add(&stripe->bad, 1);
    if (result->flags & XP_STACK_NO_CFI)
        add(&stripe->no_cfi, 1);
    if (result->flags & XP_STACK_FULL)
        add(&stripe->tree_full, 1);
}

static void verify(const struct xp_regs *regs, const uintptr_t *pcs,
                   const struct xp_walk_result *result)
{
    uint32_t turn = atomic_fetch_add_explicit(&capture.turn, 1, memory_order_relaxed);

    if (turn % capture.verify_every != 0 || !xp_reference_is_open())
        return;
    add(&capture.verified, 1);
    if (!xp_verify(regs, pcs, result, capture.depth))
        add(&capture.verify_differs, 1);
}

static void walk_by_libunwind(const struct xp_regs *regs, uintptr_t *pcs, size_t max,
                              struct xp_walk_result *ret_result)
{
    bool cut = false;

    *ret_result = (struct xp_walk_result){.exact = true};
    ret_result->count = ret_result->certain = xp_reference_walk(regs, pcs, max, &cut);
    if (cut)
        ret_result->flags = XP_STACK_CUT;
    if (ret_result->count == 0)
        ret_result->flags = XP_STACK_NO_CFI;
}

/* From the outermost frame inwards. At the cap the deepest node that could be had is charged. */
static xp_node insert(const uintptr_t *pcs, struct xp_walk_result *result, uintptr_t entry_pc)
{
    xp_node node = XP_NODE_ROOT;
    bool full = false;

    for (size_t i = result->count; i > 0 && !full; i--)
        node = xp_tree_child(node, pcs[i - 1], &full);
    if (!full)
        node = xp_tree_child(node, entry_pc, &full);
    if (XP_UNLIKELY(full))
        result->flags |= XP_STACK_FULL;
    return node;
}

XP_ALWAYS_INLINE void walk(struct xp_capture_thread *thread, const struct xp_regs *regs,
                           uintptr_t *pcs, size_t max, struct xp_walk_result *ret_result)
{
    if (XP_UNLIKELY(capture.use_libunwind && xp_reference_is_open()))
        walk_by_libunwind(regs, pcs, max, ret_result);
    else if (XP_LIKELY(max > 0))
        xp_walk(thread, regs, pcs, max, ret_result);
}

size_t xp_capture_pcs(struct xp_capture_thread *thread, const struct xp_regs *regs, uintptr_t *pcs,
                      size_t max)
{
    struct xp_walk_result result = {.count = 0};

    walk(thread, regs, pcs, max, &result);
    return result.count;
}

XP_ALWAYS_INLINE xp_node capture_into(struct xp_capture_thread *thread, const struct xp_regs *regs,
                                      uintptr_t entry_pc, uintptr_t *pcs, unsigned *ret_flags)
{
    struct xp_walk_result result = {.count = 0};

    walk(thread, regs, pcs, capture.depth, &result);
    if (XP_UNLIKELY(capture.verify_every != 0 && capture.depth > 0))
        verify(regs, pcs, &result);
    xp_node node = insert(pcs, &result, entry_pc);
    count(&result);
    *ret_flags = result.flags;
    return node;
}

/* Two sizes of the frame buffer: a signal stack may have no more than 8 KiB. */
static XP_NOINLINE xp_node capture_shallow(struct xp_capture_thread *thread,
                                           const struct xp_regs *regs, uintptr_t entry_pc,
                                           unsigned *ret_flags)
{
    uintptr_t pcs[XP_DEPTH_DEFAULT];
    return capture_into(thread, regs, entry_pc, pcs, ret_flags);
}

static XP_NOINLINE xp_node capture_deep(struct xp_capture_thread *thread,
                                        const struct xp_regs *regs, uintptr_t entry_pc,
                                        unsigned *ret_flags)
{
    uintptr_t pcs[XP_DEPTH_MAX];
    return capture_into(thread, regs, entry_pc, pcs, ret_flags);
}

xp_node xp_capture(struct xp_capture_thread *thread, const struct xp_regs *regs, uintptr_t entry_pc,
                   unsigned *ret_flags)
{
    return capture.depth < XP_DEPTH_DEFAULT ? capture_shallow(thread, regs, entry_pc, ret_flags)
                                            : capture_deep(thread, regs, entry_pc, ret_flags);
}

void xp_capture_stats_get(struct xp_capture_stats *ret_stats)
{
    struct xp_capture_stats stats = {
        .verified = atomic_load_explicit(&capture.verified, memory_order_relaxed),
        .verify_differs = atomic_load_explicit(&capture.verify_differs, memory_order_relaxed),
        .nodes = xp_tree_nodes(),
        .nodes_max = xp_tree_nodes_max(),
        .pcs = xp_tree_pc_count(),
    };

    for (unsigned i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &capture.stripes[i];
        stats.captures += atomic_load_explicit(&stripe->captures, memory_order_relaxed);
        stats.frames += atomic_load_explicit(&stripe->frames, memory_order_relaxed);
        stats.rule_misses += atomic_load_explicit(&stripe->rule_misses, memory_order_relaxed);
        stats.guessed += atomic_load_explicit(&stripe->guessed, memory_order_relaxed);
        stats.cut += atomic_load_explicit(&stripe->cut, memory_order_relaxed);
        stats.bad += atomic_load_explicit(&stripe->bad, memory_order_relaxed);
        stats.no_cfi += atomic_load_explicit(&stripe->no_cfi, memory_order_relaxed);
        stats.tree_full += atomic_load_explicit(&stripe->tree_full, memory_order_relaxed);
    }
    *ret_stats = stats;
}

void xp_capture_fork_prepare(void)
{
    xp_history_fork_prepare();
}

void xp_capture_fork_parent(void)
{
    xp_history_fork_parent();
}

void xp_capture_fork_child(void)
{
    xp_history_fork_child();
    xp_code_map_fork_child();
}
