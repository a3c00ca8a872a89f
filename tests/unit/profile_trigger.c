/* SPDX-License-Identifier: MIT */
#include "profile/trigger.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static char reason[256];

static bool take(void)
{
    struct xp_out out;

    xp_out_init(&out, -1, reason, sizeof(reason) - 1);
    bool due = xp_trigger_take(&out);
    reason[out.length] = 0;
    return due;
}

/* Totals never go back to zero: each test is a process of its own. */
static int in_child(int (*body)(void))
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0)
        _exit(body());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define WANT(x)                                                                                    \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            printf("# %s:%d: %s (reason '%s')\n", __FILE__, __LINE__, #x, reason);                 \
            fflush(stdout);                                                                        \
            return 1;                                                                              \
        }                                                                                          \
    } while (0)

static int nothing_set(void)
{
    xp_trigger_note_alloc(1, 1e18);
    xp_trigger_note_free(1, 1e18);
    WANT(!xp_trigger_due());
    WANT(!take());
    return 0;
}

TEST(without_intervals_nothing_is_ever_due)
{
    CHECK_EQ(in_child(nothing_set), 0);
}

static int allocation(void)
{
    xp_trigger_init(100 << 20, 0, 0);
    for (int i = 0; i < 99; i++)
        xp_trigger_note_alloc(1, 1 << 20);
    WANT(!xp_trigger_due());
    xp_trigger_note_alloc(1, 1 << 20);
    WANT(xp_trigger_due());
    xp_trigger_note_free(1, 23 << 20);
    WANT(take());
    WANT(strcmp(reason, "100 MB allocated cumulatively, 77 MB currently in use") == 0);
    WANT(!xp_trigger_due());
    xp_trigger_note_alloc(1, 99 << 20);
    WANT(!xp_trigger_due());
    xp_trigger_note_alloc(1, 1 << 20);
    WANT(xp_trigger_due());
    return 0;
}

TEST(allocation_is_due_each_interval)
{
    CHECK_EQ(in_child(allocation), 0);
}

static int deallocation(void)
{
    xp_trigger_init(0, 0, 10 << 20);
    xp_trigger_note_alloc(1, 1 << 30);
    WANT(!xp_trigger_due());
    xp_trigger_note_free(1, 10 << 20);
    WANT(xp_trigger_due());
    WANT(take());
    WANT(strcmp(reason, "10 MB freed cumulatively, 1014 MB currently in use") == 0);
    WANT(!xp_trigger_due());
    return 0;
}

TEST(deallocation_is_due_each_interval)
{
    CHECK_EQ(in_child(deallocation), 0);
}

static int growth(void)
{
    xp_trigger_init(0, 100 << 20, 0);
    xp_trigger_note_alloc(1, 100 << 20);
    WANT(!xp_trigger_due());
    xp_trigger_note_alloc(1, 1 << 20);
    WANT(xp_trigger_due());
    WANT(take());
    WANT(strcmp(reason, "101 MB currently in use") == 0);
    /* Down and up again below the high-water mark: nothing. */
    xp_trigger_note_free(1, 90 << 20);
    WANT(!xp_trigger_due());
    xp_trigger_note_alloc(1, 150 << 20);
    WANT(!xp_trigger_due());
    xp_trigger_note_alloc(1, 41 << 20);
    WANT(xp_trigger_due());
    WANT(take());
    WANT(strcmp(reason, "202 MB currently in use") == 0);
    return 0;
}

TEST(growth_is_due_beyond_the_last_high_water_mark)
{
    CHECK_EQ(in_child(growth), 0);
}

static int tiny_interval(void)
{
    int dumps = 0;

    xp_trigger_init(1000, 0, 0);
    for (int i = 0; i < 100; i++) {
        xp_trigger_note_alloc(1, 101);
        dumps += xp_trigger_due() && take();
    }
    /* Ten of 101 reach 1000. */
    WANT(dumps == 10);
    return 0;
}

TEST(a_small_interval_is_kept_to_the_sample)
{
    CHECK_EQ(in_child(tiny_interval), 0);
}

static void *work(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        xp_trigger_note_alloc(1.25, 101.5);
        xp_trigger_note_free(1, 51.25);
    }
    return NULL;
}

static int many_threads(void)
{
    pthread_t threads[24];
    struct xp_profile_totals t;

    xp_trigger_init(24 * 20000 * 101, 0, 0);
    for (int i = 0; i < 24; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 24; i++)
        pthread_join(threads[i], NULL);
    xp_trigger_totals(&t);
    WANT(t.alloc_objects == 24 * 20000 * 1.25);
    WANT(t.alloc_bytes == 24 * 20000 * 101.5);
    WANT(t.free_objects == 24 * 20000);
    WANT(t.free_bytes == 24 * 20000 * 51.25);
    /* What the shards still hold back is counted when it matters. */
    WANT(take());
    WANT(!xp_trigger_due());
    return 0;
}

TEST(totals_of_many_threads_are_exact)
{
    CHECK_EQ(in_child(many_threads), 0);
}

static int late_by_a_sixteenth(void)
{
    double passed = 0;

    xp_trigger_init(0, 16 << 20, 0);
    while (!xp_trigger_due()) {
        xp_trigger_note_alloc(1, 1003);
        passed += 1003;
    }
    WANT(passed > 16 << 20);
    WANT(passed < (17 << 20) + 1003);
    return 0;
}

TEST(due_is_late_by_a_sixteenth_at_most)
{
    CHECK_EQ(in_child(late_by_a_sixteenth), 0);
}
