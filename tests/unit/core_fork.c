/* SPDX-License-Identifier: MIT */
#include "core/fork.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "core/limits.h"
#include "core/slow.h"
#include "core_malloc.h"
#include "test.h"

__attribute__((constructor)) static void start(void)
{
    struct xp_core_options options;
    xp_core_options_default(&options);
    options.sample_bytes = 20000;
    options.seed = 7;
    options.purge_delay_ns = 10 * 1000 * 1000;
    xp_core_init(&options);
}

static _Atomic bool stop;

static void churn(uint64_t random, int rounds)
{
    void *p[101] = {NULL};

    for (int i = 0; rounds ? i < rounds : !atomic_load(&stop); i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % 101;
        if (p[at])
            t_free(p[at]);
        size_t size = (random >> 20) % ((random >> 61) == 0 ? 400000 : 700) + 1;
        p[at] = t_malloc(size);
        if (p[at])
            memset(p[at], (int)at, size < 2000 ? size : 2000);
    }
    for (int i = 0; i < 101; i++) {
        if (p[i])
            t_free(p[i]);
    }
}

static void *busy(void *arg)
{
    churn((uintptr_t)arg, 0);
    xp_heap_thread_exit();
    return NULL;
}

static void *busy_once(void *arg)
{
    churn((uintptr_t)arg, 3000);
    xp_heap_thread_exit();
    return NULL;
}

/* What a child does: its own work, blocks of its parent, threads that adopt resting heaps. */
static int child_works(void **inherited)
{
    pthread_t thread;
    struct xp_core_stats stats;

    alarm(30);
    for (int i = 0; i < 61; i++) {
        if (*(int *)inherited[i] != i)
            return 2;
        t_free(inherited[i]);
        if (t_result == XP_FREE_INVALID || t_result == XP_FREE_FOREIGN)
            return 3;
    }
    churn(77, 5000);
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&thread, NULL, busy_once, (void *)3) != 0)
            return 4;
        pthread_join(thread, NULL);
    }
    xp_heap_trim();
    xp_core_stats_get(&stats);
    return stats.invalid_frees != 0 ? 5 : 0;
}

static void make_inherited(void **p)
{
    for (int i = 0; i < 61; i++) {
        p[i] = t_malloc((size_t)i * i * 37 + 8);
        *(int *)p[i] = i;
    }
}

static void free_inherited(void **p)
{
    for (int i = 0; i < 61; i++) {
        CHECK_EQ(*(int *)p[i], i);
        t_free(p[i]);
    }
}

static int wait_for(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static pid_t fork_with_handlers(void)
{
    xp_core_fork_prepare();
    pid_t pid = fork();
    if (pid == 0)
        xp_core_fork_child();
    else
        xp_core_fork_parent();
    return pid;
}

static pid_t fork_without_handlers(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* The thread sanitizer starts no threads in a child, and knows of those that are not there. */
static void skip_under_sanitizer(void)
{
#ifdef __SANITIZE_THREAD__
    test_skip("threads in a forked child");
#endif
}

static void fork_beside_threads(pid_t (*fork_now)(void), int forks)
{
    pthread_t threads[3];
    void *inherited[61];

    atomic_store(&stop, false);
    for (uintptr_t i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, busy, (void *)(i + 5)) == 0);
    int bad = 0;
    for (int i = 0; i < forks && !bad; i++) {
        make_inherited(inherited);
        pid_t pid = fork_now();
        if (pid == 0)
            _exit(child_works(inherited));
        bad = wait_for(pid);
        free_inherited(inherited);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(bad, 0);
}

TEST(children_of_a_busy_process_work)
{
    skip_under_sanitizer();
    fork_beside_threads(fork_with_handlers, 60);
}

TEST(children_that_no_handler_ran_in_work)
{
    skip_under_sanitizer();
    fork_beside_threads(fork_without_handlers, 60);
}

static void *fork_in_thread(void *arg)
{
    _Atomic int *bad = arg;
    void *inherited[61];

    for (int i = 0; i < 15; i++) {
        make_inherited(inherited);
        pid_t pid = fork_with_handlers();
        if (pid == 0)
            _exit(child_works(inherited));
        if (wait_for(pid) != 0)
            atomic_fetch_add(bad, 1);
        for (int k = 0; k < 61; k++)
            t_free(inherited[k]);
    }
    xp_heap_thread_exit();
    return NULL;
}

static void *allocate_between(void *arg)
{
    void *p[61];

    (void)arg;
    xp_core_fork_prepare();
    for (int i = 0; i < 61; i++)
        p[i] = t_malloc((size_t)i * i * 37);
    xp_core_fork_parent();
    for (int i = 0; i < 61; i++) {
        if (p[i])
            t_free(p[i]);
    }
    xp_heap_thread_exit();
    return p[60];
}

TEST(handlers_of_others_may_allocate_between_prepare_and_parent)
{
    pthread_t thread;
    void *result;

    pthread_create(&thread, NULL, allocate_between, NULL);
    pthread_join(thread, &result);
    CHECK(result != NULL);
}

TEST(two_threads_may_fork_at_once)
{
    pthread_t threads[2];
    _Atomic int bad = 0;

    skip_under_sanitizer();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, fork_in_thread, &bad);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(bad, 0);
}

TEST(a_vfork_child_shares_the_heap_and_disturbs_nothing)
{
    void *inherited[61];
    void *volatile from_child = NULL;
    volatile int result = -1;

    skip_under_sanitizer();
    make_inherited(inherited);
    pid_t pid = vfork();
    if (pid == 0) {
        churn(9, 500);
        from_child = t_malloc(101);
        result = xp_fork_was_missed();
        _exit(0);
    }
    CHECK_EQ(wait_for(pid), 0);
    CHECK_EQ(result, 0);
    CHECK(from_child != NULL);
    t_free(from_child);
    churn(10, 5000);
    free_inherited(inherited);
}

static volatile int forked, failed;

static void fork_in_handler(int signo)
{
    int saved = errno;

    (void)signo;
    if (forked < 40) {
        pid_t pid = fork_with_handlers();
        if (pid == 0) {
            alarm(20);
            churn(5, 2000);
            _exit(0);
        }
        forked++;
        failed += wait_for(pid) != 0;
    }
    errno = saved;
}

static void *send_signals(void *arg)
{
    pthread_t *target = arg;

    while (!atomic_load(&stop)) {
        pthread_kill(*target, SIGUSR1);
        xp_os_sleep_ns(300000);
    }
    return NULL;
}

TEST(a_handler_may_fork_whatever_it_interrupted)
{
    pthread_t sender, me = pthread_self();
    struct sigaction action = {.sa_handler = fork_in_handler};

    skip_under_sanitizer();
    sigaction(SIGUSR1, &action, NULL);
    atomic_store(&stop, false);
    pthread_create(&sender, NULL, send_signals, &me);
    for (uint64_t i = 0; forked < 40; i++)
        churn(i, 500);
    atomic_store(&stop, true);
    pthread_join(sender, NULL);
    CHECK_EQ(failed, 0);
}

static _Atomic bool inside;

static void *stay_inside(void *arg)
{
    struct xp_slow slow;

    (void)arg;
    t_free(t_malloc(33));
    xp_slow_enter(&slow);
    atomic_store(&inside, true);
    while (!atomic_load(&stop))
        xp_os_sleep_ns(1000000);
    xp_slow_leave(&slow);
    return NULL;
}

TEST(a_fork_waits_a_bounded_time_for_a_thread_that_stays_inside)
{
    pthread_t thread;
    void *inherited[61];
    struct xp_core_stats stats;

    skip_under_sanitizer();
    atomic_store(&stop, false);
    pthread_create(&thread, NULL, stay_inside, NULL);
    while (!atomic_load(&inside))
        xp_os_sleep_ns(1000000);
    make_inherited(inherited);
    uint64_t before = xp_os_now_ns();
    pid_t pid = fork_with_handlers();
    if (pid == 0) {
        xp_core_stats_get(&stats);
        _exit(stats.abandoned == 0 ? 9 : child_works(inherited));
    }
    uint64_t took = xp_os_now_ns() - before;
    CHECK_EQ(wait_for(pid), 0);
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    CHECK(took >= XP_WAIT_NS);
    free_inherited(inherited);
}
