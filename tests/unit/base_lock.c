/* SPDX-License-Identifier: MIT */
#include "base/lock.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/os.h"
#include "test.h"

static struct xp_lock lock = XP_LOCK_INIT(XP_RANK_DUMP);
static long counter;

static void *count(void *arg)
{
    (void)arg;
    for (int i = 0; i < 100003; i++) {
        xp_lock_take(&lock);
        counter++;
        xp_lock_give(&lock);
    }
    return NULL;
}

TEST(four_threads_lose_no_count)
{
    pthread_t threads[4];

    counter = 0;
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, count, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(counter, 4 * 100003);
}

TEST(the_holder_and_only_the_holder_owns_it)
{
    CHECK(!xp_lock_mine(&lock));
    CHECK(xp_lock_try(&lock));
    CHECK(xp_lock_mine(&lock));
    CHECK(!xp_lock_try(&lock));
    xp_lock_give(&lock);
    CHECK(!xp_lock_mine(&lock));
}

static void *take_and_give(void *arg)
{
    struct xp_lock *waited = arg;

    xp_lock_take(waited);
    xp_lock_give(waited);
    return NULL;
}

TEST(what_a_wait_costs_is_counted_by_rank)
{
    static struct xp_lock waited = XP_LOCK_INIT(XP_RANK_HUGE);
    struct xp_lock_waits before, after, other;
    pthread_t thread;

    xp_lock_waits_get(XP_RANK_HUGE, &before);
    xp_lock_waits_get(XP_RANK_SEGMENT, &other);
    take_and_give(&waited);
    xp_lock_waits_get(XP_RANK_HUGE, &after);
    CHECK_EQ(after.count, before.count); /* a free lock costs nothing */

    xp_lock_take(&waited);
    CHECK(pthread_create(&thread, NULL, take_and_give, &waited) == 0);
    while (!(atomic_load(&waited.word) & 1)) /* until it sleeps */
        xp_os_sleep_ns(100000);
    xp_os_sleep_ns(3000000);
    xp_lock_give(&waited);
    pthread_join(thread, NULL);
    xp_lock_waits_get(XP_RANK_HUGE, &after);
    CHECK_EQ(after.count, before.count + 1);
    CHECK(after.ns >= before.ns + 3000000);
    xp_lock_waits_get(XP_RANK_SEGMENT, &after);
    CHECK_EQ(after.count, other.count);
}

static void *hold(void *arg)
{
    (void)arg;
    xp_lock_take(&lock);
    return NULL;
}

TEST(a_bounded_wait_ends_although_the_holder_is_gone)
{
    pthread_t thread;

    pthread_create(&thread, NULL, hold, NULL);
    pthread_join(thread, NULL);
    uint64_t start = xp_os_now_ns();
    CHECK_EQ(xp_lock_take_bounded(&lock, 20 * 1000 * 1000), -ETIMEDOUT);
    CHECK(xp_os_now_ns() - start >= 20 * 1000 * 1000);
    xp_lock_reset(&lock);
    CHECK(xp_lock_try(&lock));
    xp_lock_give(&lock);
}

/* Where a handler may come that never lets its thread go on. */
TEST(the_holder_is_known_between_the_two_stores_of_taking_and_of_giving)
{
    CHECK(xp_lock_try(&lock));
    atomic_store(&lock.owner, 0);
    CHECK(xp_lock_mine(&lock));
    xp_lock_give(&lock);
    CHECK(!xp_lock_mine(&lock));

    pthread_t thread;
    pthread_create(&thread, NULL, hold, NULL);
    pthread_join(thread, NULL);
    atomic_store(&lock.owner, 0);
    CHECK(!xp_lock_mine(&lock));
    xp_lock_reset(&lock);
}

static volatile int handled;

static void find_the_lock(int signo)
{
    handled = xp_lock_mine(&lock) ? -1 : signo;
}

TEST(a_handler_comes_only_when_a_masked_lock_is_free_again)
{
#ifdef __SANITIZE_THREAD__
    test_skip("the sanitizer holds signals back by itself");
#endif
    struct sigaction action = {.sa_handler = find_the_lock}, before;
    sigset_t usr2, after;
    uint64_t signals;

    CHECK(sigaction(SIGUSR1, &action, &before) == 0);
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    CHECK(pthread_sigmask(SIG_BLOCK, &usr2, NULL) == 0);
    handled = 0;
    xp_lock_take_masked(&lock, &signals);
    CHECK(xp_lock_mine(&lock));
    raise(SIGUSR1);
    CHECK_EQ(handled, 0);
    xp_lock_give_restore(&lock, &signals);
    CHECK_EQ(handled, SIGUSR1);

    /* What was blocked before still is, and nothing else. */
    CHECK(pthread_sigmask(SIG_UNBLOCK, &usr2, &after) == 0);
    CHECK(sigismember(&after, SIGUSR2) == 1);
    CHECK(sigismember(&after, SIGUSR1) == 0);
    sigaction(SIGUSR1, &before, NULL);
}
