/* SPDX-License-Identifier: MIT */
#include "capture/reference.h"

#include "capture/verify.h"
#include "test.h"

static struct xp_capture_thread thread;
static xp_node node;
static unsigned flags;

static void start(void)
{
    static bool done;
    struct xp_capture_options options = {.depth = 41, .use_libunwind = true};

    if (!done)
        CHECK_EQ(xp_capture_init(&options), 0);
    done = true;
}

/* What the two walkers see from the same place. */
static struct {
    uintptr_t ours[XP_DEPTH_MAX], theirs[XP_DEPTH_MAX];
    struct xp_walk_result result;
    size_t theirs_count;
    bool cut;
} both;

static __attribute__((noinline)) void look(size_t max)
{
    struct xp_regs regs = xp_regs_of_caller();

    xp_walk(&thread, &regs, both.ours, max, &both.result);
    both.cut = false;
    both.theirs_count = xp_reference_walk(&regs, both.theirs, max, &both.cut);
    node = xp_capture(&thread, &regs, (uintptr_t)look + 1, &flags);
}

static __attribute__((noinline)) void deep(int n, size_t max)
{
    if (n > 0)
        deep(n - 1, max);
    else
        look(max);
    __asm__ volatile("" : : "r"(n));
}

TEST(before_it_is_opened_it_sees_nothing_and_our_walker_serves)
{
    start();
    CHECK(!xp_reference_is_open());
    deep(7, 100);
    CHECK_EQ(both.theirs_count, 0);
    CHECK(both.result.count > 9);
    CHECK(node > XP_NODE_NESTED);
    CHECK_EQ(flags, 0);
}

static void open_it(void)
{
    start();
    if (xp_capture_open_reference() == -2)
        test_skip("no libunwind");
    CHECK(xp_reference_is_open());
}

TEST(it_begins_at_the_caller_and_sees_what_we_see)
{
    open_it();
    deep(13, 100);
    CHECK_EQ(both.theirs_count, both.result.count);
    for (size_t i = 0; i < both.result.count; i++)
        CHECK_EQ(both.ours[i], both.theirs[i]);
    CHECK(!both.cut);
}

TEST(asked_for_as_the_unwinder_it_gives_the_same_stacks)
{
    uintptr_t pcs[XP_DEPTH_MAX];

    open_it();
    deep(11, 100);
    CHECK_EQ(flags, 0);
    size_t count = xp_tree_pcs(node, pcs, XP_DEPTH_MAX);
    CHECK_EQ(count, both.result.count + 1);
    for (size_t i = 0; i < both.result.count; i++)
        CHECK_EQ(pcs[i + 1], both.ours[i]);
    deep(60, 100);
    CHECK_EQ(flags, XP_STACK_CUT);
    CHECK_EQ(xp_tree_pcs(node, pcs, XP_DEPTH_MAX), 41);
}

TEST(it_says_when_there_is_more)
{
    open_it();
    deep(20, 10);
    CHECK_EQ(both.theirs_count, 10);
    CHECK(both.cut);
    CHECK_EQ(both.result.count, 10);
    CHECK_EQ(both.result.flags, XP_STACK_CUT);
}

/* ---- what is remembered of differences ---- */

static bool agreed;
static size_t changed_at, dropped;

static __attribute__((noinline)) void falsify(void)
{
    struct xp_regs regs = xp_regs_of_caller();

    xp_walk(&thread, &regs, both.ours, 100, &both.result);
    if (changed_at < both.result.count)
        both.ours[changed_at] ^= 1;
    both.result.count -= dropped;
    both.result.certain -= dropped;
    agreed = xp_verify(&regs, both.ours, &both.result, 100);
}

static __attribute__((noinline)) void falsify_deep(int n)
{
    if (n > 0)
        falsify_deep(n - 1);
    else
        falsify();
    __asm__ volatile("" : : "r"(n));
}

TEST(the_first_frame_that_differs_is_remembered_with_its_neighbours)
{
    struct xp_capture_difference kept[2];

    open_it();
    changed_at = 1000;
    dropped = 0;
    falsify_deep(30);
    CHECK(agreed);
    CHECK_EQ(xp_capture_differences(kept, 2), 0);

    changed_at = 20;
    falsify_deep(30);
    CHECK(!agreed);
    CHECK_EQ(xp_capture_differences(kept, 2), 1);
    CHECK_EQ(kept[0].first, 20);
    CHECK_EQ(kept[0].skipped, 20 - XP_DIFFERENCE_FRAMES / 2);
    CHECK_EQ(kept[0].ours[20 - kept[0].skipped] ^ 1, kept[0].theirs[20 - kept[0].skipped]);
    CHECK_EQ(kept[0].ours[0], kept[0].theirs[0]);

    changed_at = 1000;
    dropped = 2;
    falsify_deep(3);
    CHECK(!agreed);
    CHECK_EQ(xp_capture_differences(kept, 2), 2);
    CHECK_EQ(kept[1].theirs_count - kept[1].ours_count, 2);
}

TEST(past_a_guess_nothing_is_compared)
{
    open_it();
    changed_at = 1000;
    dropped = 0;
    falsify_deep(9);
    struct xp_regs nowhere = {1, 2, 3};
    struct xp_walk_result result = {.count = 5, .certain = 0, .exact = false};
    CHECK(xp_verify(&nowhere, both.ours, &result, 100));
}
