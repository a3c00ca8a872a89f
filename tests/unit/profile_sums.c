/* SPDX-License-Identifier: MIT */
#include "profile/sums.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/meta.h"
#include "base/os.h"
#include "capture/tree.h"
#include "test.h"

/* What is there, by node; node 0xfff0000 and above are the tests' own. */
struct tally {
    uint32_t first, last;
    double objects, bytes;
    size_t rows;
};

static bool count(uint32_t node, unsigned row_class, double objects, double bytes, void *arg)
{
    struct tally *tally = arg;

    (void)row_class;
    if (node >= tally->first && node <= tally->last) {
        tally->objects += objects;
        tally->bytes += bytes;
        tally->rows++;
    }
    return true;
}

static struct tally tally_of(uint32_t first, uint32_t last)
{
    struct tally tally = {.first = first, .last = last};

    xp_sums_each(count, &tally);
    return tally;
}

TEST(sums_add_up_by_node_and_class)
{
    for (int i = 0; i < 23; i++) {
        xp_sums_add(101, 3, 1.5, 151.5);
        xp_sums_add(101, 4, 1, 7);
        xp_sums_add(103, 3, 1, 0);
    }
    struct tally t = tally_of(101, 101);
    CHECK_EQ(t.rows, 2);
    CHECK_NEAR(t.objects, 23 * 2.5, 1e-9);
    CHECK_NEAR(t.bytes, 23 * 158.5, 1e-9);
    t = tally_of(103, 103);
    CHECK_EQ(t.rows, 1);
    CHECK_NEAR(t.bytes, 0, 0);
}

TEST(a_hundred_thousand_rows_are_kept_apart)
{
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t node = 1000000; node < 1100000; node++)
            xp_sums_add(node, 5, 1, 101);
    }
    struct tally t = tally_of(1000000, 1099999);
    CHECK_EQ(t.rows, 100000);
    CHECK_NEAR(t.objects, 200000, 0);
    t = tally_of(1054321, 1054321);
    CHECK_EQ(t.rows, 1);
    CHECK_NEAR(t.bytes, 202, 0);
    CHECK(xp_sums_count() >= 100000);
}

static void *add_many(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 40000; i++)
        xp_sums_add(2000000 + i % 5003, i % 3, 1, 23);
    return NULL;
}

TEST(nothing_is_lost_when_threads_add_the_same_rows)
{
    pthread_t threads[8];

    for (int i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, add_many, NULL) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    struct tally t = tally_of(2000000, 2009999);
    CHECK_NEAR(t.objects, 8 * 40000, 0);
    CHECK_NEAR(t.bytes, 8 * 40000 * 23, 0);
}

static volatile sig_atomic_t handled;

static void add_in_handler(int signo)
{
    (void)signo;
    /* New rows and old ones alike. */
    xp_sums_add(3100000 + (uint32_t)handled, 1, 1, 29);
    xp_sums_add(3000000, 1, 1, 29);
    handled++;
}

TEST(a_handler_over_an_add_neither_hangs_nor_loses)
{
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    uint32_t added = 0;

    handled = 0;
    signal(SIGALRM, add_in_handler);
    setitimer(ITIMER_REAL, &often, NULL);
    while (handled < 500) {
        xp_sums_add(3000000, 1, 1, 29);
        xp_sums_add(4000000 + added % 100000, 1, 1, 29);
        added++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
    struct tally t = tally_of(3000000, 3000000);
    CHECK_NEAR(t.objects, (double)added + handled, 0);
    t = tally_of(3100000, 3199999);
    CHECK_NEAR(t.objects, handled, 0);
    t = tally_of(4000000, 4099999);
    CHECK_NEAR(t.objects, added, 0);
}

static sigjmp_buf leave;
static void jump_out(int signo)
{
    (void)signo;
    siglongjmp(leave, 1);
}

TEST(a_handler_that_leaves_by_siglongjmp_leaves_no_lock_behind)
{
    const struct itimerval soon = {{0, 0}, {0, 100}};
    volatile int jumps = 0;
    volatile uint32_t node = 5000000;

    signal(SIGALRM, jump_out);
    for (jumps = 0; jumps < 200; jumps++) {
        if (sigsetjmp(leave, 1) == 0) {
            setitimer(ITIMER_REAL, &soon, NULL);
            for (;;)
                xp_sums_add(node++, 1, 1, 29);
        }
    }
    signal(SIGALRM, SIG_DFL);
    xp_sums_add(4999999, 1, 1, 29);
    struct tally t = tally_of(4999999, 4999999);
    CHECK_EQ(t.rows, 1);
}

TEST(without_memory_the_sum_goes_to_nested)
{
    /* In a child: the rows made here must not weigh on the other tests. */
    pid_t pid = fork();
    if (pid == 0) {
        xp_sums_fork_child();
        struct tally before = tally_of(XP_NODE_NESTED, XP_NODE_NESTED);
        xp_os_fault_every(1, 1u << XP_OS_MAP, ENOMEM);
        for (uint32_t i = 0; i < 200000; i++)
            xp_sums_add(0x10000000 + i, 9, 1, 101);
        xp_os_fault_every(0, 0, 0);
        struct tally after = tally_of(XP_NODE_NESTED, XP_NODE_NESTED);
        struct tally kept = tally_of(0x10000000, 0x20000000);
        bool ok = xp_sums_spared() > 0 &&
                  after.objects - before.objects == (double)xp_sums_spared() &&
                  kept.objects + after.objects - before.objects == 200000 &&
                  kept.bytes + after.bytes - before.bytes == 20200000.0;
        _exit(ok ? 0 : 1);
    }
    int status;
    waitpid(pid, &status, 0);
    CHECK_EQ(status, 0);
}

static atomic_bool stop;
static atomic_uint round_number;
static void *add_until_stopped(void *arg)
{
    uint32_t node = 6000000;

    (void)arg;
    while (!atomic_load(&stop)) {
        /* New rows all the time, and yet no end of memory. */
        xp_sums_add(node++ % 50000 + 6000000, atomic_load(&round_number), 1, 29);
    }
    return NULL;
}

TEST(a_fork_amid_the_making_of_rows_leaves_the_child_whole)
{
    pthread_t threads[3];

    atomic_store(&stop, false);
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, add_until_stopped, NULL) == 0);
    int bad = 0;
    for (int i = 0; i < 40; i++) {
        atomic_store(&round_number, (unsigned)i);
        xp_meta_fork_prepare();
        pid_t pid = fork();
        if (pid == 0) {
            xp_meta_fork_child();
            xp_sums_fork_child();
            for (uint32_t node = 0; node < 1000; node++)
                xp_sums_add(7000000 + node, 1, 1, 29);
            struct tally t = tally_of(7000000, 7000999);
            _exit(t.objects == 1000 ? 0 : 1);
        }
        int status;
        xp_meta_fork_parent();
        waitpid(pid, &status, 0);
        bad += status != 0;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(bad, 0);
}
