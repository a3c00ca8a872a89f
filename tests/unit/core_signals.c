/* SPDX-License-Identifier: MIT */
/* Signal handlers that allocate, whatever they interrupted; and that never come back. */
#include "core/slow.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/os.h"
#include "core_malloc.h"
#include "test.h"

#define KEPT 61

__attribute__((constructor)) static void start(void)
{
    struct xp_core_options options;
    xp_core_options_default(&options);
    options.sample_bytes = 4096;
    options.seed = 5;
    options.purge_delay_ns = 20 * 1000 * 1000;
    xp_core_init(&options);
}

static __thread struct state {
    unsigned char *kept[KEPT]; /* made by the handler, freed by it or by the thread */
    uint64_t random;
    volatile uint64_t runs, wrong;
    sigjmp_buf leave;
    volatile bool leaves;
} t;

static _Atomic bool stop;
static _Atomic uint64_t wrong, runs;

static size_t random_size(void)
{
    t.random = t.random * 6364136223846793005u + 1442695040888963407u;
    uint64_t kind = t.random >> 60;
    return (t.random >> 33) % (kind == 0 ? 200000 : kind < 4 ? 9000 : 300) + 9;
}

static unsigned char *make(void)
{
    size_t size = random_size();
    unsigned char *p = t_malloc(size);

    if (!p)
        return NULL;
    *(size_t *)p = size;
    p[size - 1] = (unsigned char)(size * 7);
    return p;
}

static void destroy(unsigned char *p)
{
    size_t size = *(size_t *)p;

    if (p[size - 1] != (unsigned char)(size * 7) && size != 8)
        t.wrong++;
    *(size_t *)p = 0x7777777777777777u;
    t_free(p);
    if (t_result == XP_FREE_INVALID || t_result == XP_FREE_FOREIGN)
        t.wrong++;
}

static void on_signal(int signo)
{
    (void)signo;
    t.runs++;
    for (int i = 0; i < 3; i++) {
        unsigned at = (unsigned)(t.runs * 7 + (unsigned)i) % KEPT;
        unsigned char *old = t.kept[at];
        t.kept[at] = NULL;
        if (old)
            destroy(old);
        t.kept[at] = make();
    }
    if (t.leaves && t.runs % 5 == 0)
        siglongjmp(t.leave, 1);
}

static void block_signal(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

/* The main program of each thread. Its own blocks are private, so a handler that never comes back
 * loses them at most. */
static void *work(void *arg)
{
    unsigned char *own[211] = {NULL};
    volatile int rounds = 0;

    t.random = (uintptr_t)&t ^ 77;
    t.leaves = arg != NULL;
    if (t.leaves && sigsetjmp(t.leave, 1) != 0)
        memset(own, 0, sizeof(own));
    block_signal(SIG_UNBLOCK);
    for (; !atomic_load(&stop); rounds++) {
        uint64_t random = (uint64_t)rounds * 0x9e3779b97f4a7c15u;
        unsigned at = (unsigned)(random >> 40) % 211;
        unsigned char *old = own[at];
        own[at] = NULL;
        if (old)
            destroy(old);
        own[at] = make();
    }
    block_signal(SIG_BLOCK);
    t.leaves = false;
    atomic_fetch_add(&wrong, t.wrong);
    atomic_fetch_add(&runs, t.runs);
    xp_heap_thread_exit();
    return NULL;
}

static void storm(bool leaves)
{
    pthread_t threads[3];
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGUSR1, &action, NULL);
    atomic_store(&stop, false);
    block_signal(SIG_BLOCK);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, work, leaves ? (void *)1 : NULL);
    uint64_t end = xp_os_now_ns() + 2000000000u;
    while (xp_os_now_ns() < end) {
        for (int i = 0; i < 3; i++)
            pthread_kill(threads[i], SIGUSR1);
        xp_os_sleep_ns(20000);
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(atomic_exchange(&wrong, 0), 0);
    CHECK(atomic_exchange(&runs, 0) > 500);
}

TEST(handlers_may_allocate_whatever_they_interrupted)
{
    struct xp_core_stats stats;

    storm(false);
    xp_core_stats_get(&stats);
    printf("# %llu emergency calls, %llu abandoned\n", (unsigned long long)stats.emergency,
           (unsigned long long)stats.abandoned);
    CHECK_EQ(stats.abandoned, 0);
    CHECK(stats.emergency > 0);
}

TEST(handlers_may_leave_by_a_jump)
{
    struct xp_core_stats before, after;

    xp_core_stats_get(&before);
    storm(true);
    xp_core_stats_get(&after);
    printf("# %llu emergency calls, %llu abandoned\n",
           (unsigned long long)(after.emergency - before.emergency),
           (unsigned long long)(after.abandoned - before.abandoned));
    for (int i = 0; i < 1009; i++)
        t_free(t_malloc((size_t)i * 101));
}
