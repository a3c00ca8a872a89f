/* SPDX-License-Identifier: MIT */
#include "capture/capture.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>

#include "base/os.h"
#include "capture/modules.h"
#include "test.h"

static struct xp_capture_thread main_thread;
static __thread struct xp_capture_thread *thread = NULL;

static void start(void)
{
    static bool done;
    struct xp_capture_options options = {.depth = 64, .nodes_max = 100003, .verify_every = 7};

    if (!done) {
        CHECK_EQ(xp_capture_init(&options), 0);
        if (xp_capture_open_reference() == -ENOENT)
            test_skip("no libunwind");
    }
    done = true;
    thread = &main_thread;
}

static __thread unsigned flags;

static __attribute__((noinline)) xp_node probe(void)
{
    struct xp_regs regs = xp_regs_of_caller();
    return xp_capture(thread, &regs, (uintptr_t)probe + 1, &flags);
}

static __attribute__((noinline)) xp_node deep(int n)
{
    xp_node node = n > 0 ? deep(n - 1) : probe();
    __asm__ volatile("" : "+r"(node));
    return node;
}

static struct xp_capture_stats stats(void)
{
    struct xp_capture_stats stats;
    xp_capture_stats_get(&stats);
    return stats;
}

static uint64_t system_calls(void)
{
    uint64_t sum = 0;
    for (int i = 0; i < XP_OS_CALLS; i++)
        sum += xp_os_call_count((enum xp_os_call)i);
    return sum;
}

TEST(the_same_place_gives_the_same_node_and_another_place_another)
{
    xp_node nodes[6];

    start();
    for (volatile int i = 0; i < 5; i++) /* one call site, also when the loop is unrolled */
        nodes[i] = deep(11);
    nodes[5] = deep(12);
    for (int i = 1; i < 5; i++)
        CHECK_EQ(nodes[i], nodes[0]);
    CHECK(nodes[5] != nodes[0]);
    CHECK_EQ(flags, 0);
}

TEST(every_seventh_capture_is_checked_by_libunwind_and_agrees)
{
    start();
    struct xp_capture_stats before = stats();
    for (int i = 0; i < 70; i++)
        deep(i % 23);
    struct xp_capture_stats after = stats();
    CHECK_EQ(after.captures - before.captures, 70);
    CHECK_EQ(after.verified - before.verified, 10);
    CHECK_EQ(after.verify_differs, 0);
    CHECK(after.frames - before.frames > 70 * 12);
}

TEST(a_warm_capture_allocates_nothing_and_asks_the_kernel_nothing)
{
    struct xp_capture_stats before;
    uint64_t calls = 0;
    size_t used = 0;

    start();
    /* One call site, or the stacks would not be the same: volatile, so that the compiler does not
     * make two of it. Right after libunwind's turn. */
    for (volatile int i = -1; i < 5; i++) {
        while (i < 0 && stats().captures % 7 != 1)
            probe();
        if (i == 0) {
            before = stats();
            calls = system_calls();
            used = mallinfo2().uordblks;
        }
        deep(17);
    }
    struct xp_capture_stats after = stats();
    CHECK_EQ(after.verified, before.verified);
    CHECK_EQ(after.captures - before.captures, 5);
    CHECK_EQ(after.rule_misses, before.rule_misses);
    CHECK_EQ(after.nodes, before.nodes);
    CHECK_EQ(mallinfo2().uordblks, used);
    CHECK_EQ(system_calls(), calls);
}

TEST(errno_comes_out_as_it_went_in)
{
    start();
    for (int i = 0; i < 14; i++) { /* also when libunwind is asked, and when all calls fail */
        errno = 2323;
        deep(i);
        CHECK_EQ(errno, 2323);
    }
    xp_os_fault_every(1, ~0u, ENOMEM);
    errno = 2323;
    deep(29);
    xp_os_fault_every(0, 0, 0);
    CHECK_EQ(errno, 2323);
}

TEST(depth_counts_the_entry_point_and_cuts_outermost)
{
    uintptr_t pcs[XP_DEPTH_MAX];

    start();
    xp_node node = deep(100);
    CHECK_EQ(flags, XP_STACK_CUT);
    CHECK_EQ(xp_tree_pcs(node, pcs, XP_DEPTH_MAX), 64);
    CHECK_EQ(pcs[0], (uintptr_t)probe + 1);
    CHECK(stats().cut >= 1);
}

/* ---- signals over captures ---- */

static volatile unsigned long handled;

static void on_timer(int signo)
{
    struct xp_capture_thread own = {0};
    struct xp_regs regs = xp_regs_of_caller();
    unsigned ignored;
    (void)signo;

    /* What preload does: a handler over a capture does not capture with the same state. Here it
     * has a state of its own, and everything it shares with the interrupted one is tested. */
    xp_capture(&own, &regs, (uintptr_t)on_timer + 1, &ignored);
    handled += 1;
}

TEST(a_handler_that_captures_over_a_capture_disturbs_nothing)
{
    struct sigaction action = {.sa_handler = on_timer}, old;
    struct itimerval timer = {{0, 397}, {0, 397}}, off = {{0, 0}, {0, 0}};

    xp_node expected[32];
    bool same = true;

    start();
    for (volatile unsigned long round = 0; round < 32 || (handled < 300 && round < 100000000);
         round++) {
        xp_node node = deep((int)(round % 32));
        if (round < 32)
            expected[round] = node;
        same &= node == expected[round % 32];
        if (round == 31) {
            sigaction(SIGALRM, &action, &old);
            setitimer(ITIMER_REAL, &timer, NULL);
        }
    }
    setitimer(ITIMER_REAL, &off, NULL);
    sigaction(SIGALRM, &old, NULL);
    CHECK(same);
    CHECK(handled >= 300);
    CHECK_EQ(stats().verify_differs, 0);
}

/* ---- threads ---- */

static struct {
    xp_node nodes[4][16];
} seen;

static void *capture_in_thread(void *arg)
{
    struct xp_capture_thread own = {0};
    size_t me = (size_t)arg;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    thread = &own;
    if (me % 2 == 0)
        xp_capture_thread_bounds(&own, here, here + 64);
    for (int round = 0; round < 200; round++) {
        for (volatile int i = 0; i < 16; i++)
            seen.nodes[me][i] = deep(i);
    }
    return NULL;
}

TEST(threads_with_and_without_known_bounds_see_the_same_stacks)
{
    pthread_t threads[4];

    start();
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, capture_in_thread, (void *)i), 0);
    for (size_t i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 16; i++) {
        CHECK(seen.nodes[0][i] > XP_NODE_NESTED);
        for (int t = 1; t < 4; t++)
            CHECK_EQ(seen.nodes[t][i], seen.nodes[0][i]);
    }
    CHECK_EQ(stats().bad, 0);
}

TEST(a_full_tree_is_flagged_and_counted)
{
    uintptr_t pcs[XP_DEPTH_MAX];
    bool full = false;

    start();
    xp_node parent = XP_NODE_ROOT;
    while (!full)
        parent = xp_tree_child(parent, (uintptr_t)probe + 1, &full);
    uint64_t before = stats().tree_full;
    xp_node node = deep(61);
    CHECK(flags & XP_STACK_FULL);
    CHECK_EQ(stats().tree_full - before, 1);
    CHECK_EQ(stats().nodes, stats().nodes_max);
    CHECK(xp_tree_pcs(node, pcs, XP_DEPTH_MAX) < 61); /* an ancestor */
}
