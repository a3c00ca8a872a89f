/* SPDX-License-Identifier: MIT */
/* Each test runs in a child, so that each starts with an allocator that has done nothing yet. */
#include "core/limits.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os.h"
#include "core/arena.h"
#include "core_malloc.h"
#include "test.h"

#define MEBI ((size_t)1 << 20)

#define EXPECT(x)                                                                                  \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            dprintf(2, "%s:%d: %s", __FILE__, __LINE__, #x);                                       \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

/* Sanitizers have memory of their own, more than is measured here. */
static void skip_under_sanitizer(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    test_skip("memory of the process is measured");
#endif
}

static void check_child(void (*body)(void *arg), void *arg)
{
    char text[512];
    int status = test_fork(body, arg, text, sizeof(text));

    if (status != 0)
        printf("# status %#x: %s\n", status, text);
    CHECK_EQ(status, 0);
}

static size_t address_space(void)
{
    char text[128] = {0};
    xp_os_read_file("/proc/self/statm", text, sizeof(text) - 1);
    return strtoul(text, NULL, 10) * 4096;
}

static void limit_to(size_t more)
{
    struct rlimit limit = {address_space() + more, RLIM_INFINITY};
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
}

/* Until there is no more; returns the bytes had. All of it is freed again. */
static size_t exhaust(size_t size)
{
    void **first = NULL;
    size_t total = 0;

    for (;;) {
        void **p = t_malloc(size);
        if (!p)
            break;
        *p = first;
        first = p;
        total += size;
    }
    while (first) {
        void **next = *first;
        t_free(first);
        EXPECT(t_result == XP_FREE_DONE);
        first = next;
    }
    return total;
}

static void use_limited(void *arg)
{
    static const size_t sizes[] = {101, 5003, 100003, 3000017, 30000001};
    size_t more = *(size_t *)arg;

    limit_to(more);
    for (size_t i = 0; i < XP_ARRAY_LENGTH(sizes); i++) {
        size_t total = exhaust(sizes[i]);
        /* Most of what the program may have is had, whatever the size of the pieces. */
        if (sizes[i] < more / 8 && total < more / 2) {
            dprintf(2, "%zu of %zu in pieces of %zu", total, more, sizes[i]);
            _exit(1);
        }
    }
    EXPECT(exhaust(101) > more / 2);
    EXPECT(exhaust(100003) > more / 2);
}

TEST(a_small_address_space_is_used_and_its_end_is_clean)
{
    static size_t limits[] = {16 * MEBI, 64 * MEBI, 200 * MEBI, 400 * MEBI};

    skip_under_sanitizer();
    for (size_t i = 0; i < XP_ARRAY_LENGTH(limits); i++)
        check_child(use_limited, &limits[i]);
}

static void lower_later(void *arg)
{
    (void)arg;
    for (int i = 0; i < 1009; i++)
        EXPECT(t_malloc(101 * (size_t)i) != NULL);
    xp_core_limit_address_space(300 * MEBI);
    EXPECT(address_space() < 200 * MEBI);
    struct rlimit limit = {300 * MEBI, RLIM_INFINITY};
    EXPECT(setrlimit(RLIMIT_AS, &limit) == 0);
    EXPECT(exhaust(101) > 60 * MEBI);
    EXPECT(exhaust(100003) > 60 * MEBI);
    EXPECT(exhaust(20000003) > 60 * MEBI);
}

TEST(the_reserve_is_given_up_before_the_program_lowers_its_limit)
{
    skip_under_sanitizer();
    check_child(lower_later, NULL);
}

static void no_memory_later(void *arg)
{
    void *p[1009];
    int had = 0;

    (void)arg;
    t_free(t_malloc(101));
    xp_os_fault_every(1, 1u << XP_OS_MAP | 1u << XP_OS_PROTECT, 12);
    for (int i = 0; i < 1009; i++) {
        p[i] = t_malloc(100003);
        had += p[i] != NULL;
    }
    EXPECT(had < 300);
    xp_os_fault_every(0, 0, 0);
    for (int i = 0; i < 1009; i++) {
        if (p[i])
            t_free(p[i]);
    }
    EXPECT(t_malloc(100003) != NULL);
}

TEST(without_memory_every_call_fails_cleanly_and_later_ones_work)
{
    check_child(no_memory_later, NULL);
}

static void start_without(void *arg)
{
    (void)arg;
    xp_os_fault_every(1, 1u << XP_OS_MAP | 1u << XP_OS_PROTECT | 1u << XP_OS_ADVISE, 12);
    EXPECT(t_malloc(1) == NULL);
    EXPECT(t_malloc(100003) == NULL);
    EXPECT(t_calloc(30000001) == NULL);
    EXPECT(xp_heap_alloc_unsampled(5, 0, 0) == NULL);
    EXPECT(!xp_heap_trim());
    xp_os_fault_every(0, 0, 0);
    char *p = t_malloc(101);
    EXPECT(p != NULL);
    t_free(p);
}

TEST(a_start_without_memory_is_made_up_for_later)
{
    check_child(start_without, NULL);
}

static void *mixed(void *arg)
{
    unsigned char *p[101] = {NULL};
    size_t sizes[101];
    uint64_t random = (uintptr_t)arg;

    for (int i = 0; i < 8000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % 101;
        if (p[at]) {
            EXPECT(p[at][0] == (unsigned char)sizes[at]);
            EXPECT(p[at][sizes[at] - 1] == (unsigned char)(sizes[at] + 1));
            struct xp_record record;
            struct xp_due due;
            bool had, is_due;
            void *moved;
            size_t size = sizes[at] * 3 / 2 + 1;
            if (random % 3 == 0 && !xp_heap_resize_stay(p[at], size) &&
                xp_heap_resize_pages(p[at], size, &moved, &record, &had, &due, &is_due) == 0) {
                p[at] = moved;
                EXPECT(p[at][0] == (unsigned char)sizes[at]);
                EXPECT(p[at][sizes[at] - 1] == (unsigned char)(sizes[at] + 1));
            }
            t_free(p[at]);
            EXPECT(t_result == XP_FREE_DONE || t_result == XP_FREE_SAMPLED);
        }
        unsigned kind = random >> 60;
        size_t size = (random >> 20) % (kind == 0 ? 20000000 : kind < 3 ? 300000 : 2000) + 2;
        p[at] = random % 5 ? t_malloc(size) : t_calloc(size);
        sizes[at] = size;
        if (p[at]) {
            EXPECT(random % 5 || p[at][size / 2] == 0);
            p[at][0] = (unsigned char)size;
            p[at][size - 1] = (unsigned char)(size + 1);
        }
        if (i % 1000 == 0)
            xp_heap_trim();
    }
    for (int i = 0; i < 101; i++) {
        if (p[i])
            t_free(p[i]);
    }
    xp_heap_thread_exit();
    return NULL;
}

static void every_nth(void *arg)
{
    unsigned n = *(unsigned *)arg;
    pthread_t threads[2];
    struct xp_core_options options;
    xp_core_options_default(&options);
    options.sample_bytes = 100000;
    options.seed = n;
    options.purge_delay_ns = 1000000;
    struct xp_core_stats stats;

    xp_core_init(&options);
    xp_os_fault_every(n,
                      1u << XP_OS_MAP | 1u << XP_OS_UNMAP | 1u << XP_OS_PROTECT |
                          1u << XP_OS_ADVISE | 1u << XP_OS_REMAP,
                      12);
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, mixed, (void *)(i + n));
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    EXPECT(xp_os_fault_count() > 5);
    xp_os_fault_every(0, 0, 0);
    xp_heap_trim();
    xp_core_stats_get(&stats);
    EXPECT(stats.huge_bytes == 0);
    EXPECT(stats.dirty_bytes == 0);
    EXPECT(stats.live_bytes < 8 * MEBI);
    EXPECT(stats.invalid_frees == 0);
}

TEST(any_system_call_may_fail_at_any_time)
{
    for (unsigned n = 2; n < 14; n += 3)
        check_child(every_nth, &n);
}

static size_t resident(void)
{
    char text[128] = {0}, *at = text;
    xp_os_read_file("/proc/self/statm", text, sizeof(text) - 1);
    strtoul(text, &at, 10);
    return strtoul(at, NULL, 10) * 4096;
}

static void lock_memory(void *arg)
{
    (void)arg;
    t_free(t_malloc(101));
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        _exit(0);
    EXPECT(resident() < 64 * MEBI);
    for (int i = 0; i < 1009; i++)
        EXPECT(t_malloc(1009) != NULL);
    EXPECT(resident() < 64 * MEBI);
}

TEST(locked_memory_does_not_make_the_reserve_resident)
{
    skip_under_sanitizer();
    check_child(lock_memory, NULL);
}

static void give_back(void *arg)
{
    enum { N = 40009 };
    static void *p[N];
    struct xp_core_options options;
    xp_core_options_default(&options);
    options.purge_delay_ns = 10 * 1000 * 1000;

    (void)arg;
    xp_core_init(&options);
    t_free(t_malloc(1));
    size_t before = resident();
    for (int i = 0; i < N; i++) {
        size_t size = (size_t)i % 1501 + 1;
        p[i] = t_malloc(size);
        memset(p[i], 1, size);
    }
    EXPECT(resident() > before + 24 * MEBI);
    for (int i = 0; i < N; i++)
        t_free(p[i]);
    EXPECT(xp_heap_trim());
    EXPECT(resident() < before + 2 * MEBI);
}

TEST(trimming_gives_everything_back)
{
    skip_under_sanitizer();
    check_child(give_back, NULL);
}

/* Without a thread of ours and without a call for it: the program only has to go on a little. */
static void give_back_in_time(void *arg)
{
    enum { N = 60013 };
    static void *p[N];

    (void)arg;
    t_free(t_malloc(1));
    size_t before = resident();
    for (int i = 0; i < N; i++) {
        size_t size = (size_t)i % 1009 + 1;
        p[i] = t_malloc(size);
        memset(p[i], 1, size);
    }
    EXPECT(resident() > before + 24 * MEBI);
    for (int i = 0; i < N; i++)
        t_free(p[i]);
    EXPECT(resident() < before + 24 * MEBI);
    for (int i = 0; i < 3001; i++) {
        t_free(t_malloc((size_t)i % 1009 + 1));
        if (i % 100 == 0)
            xp_os_sleep_ns(20 * 1000 * 1000);
    }
    EXPECT(resident() < before + 8 * MEBI);
}

TEST(free_memory_goes_back_by_itself_while_the_program_goes_on)
{
    skip_under_sanitizer();
    check_child(give_back_in_time, NULL);
}

static void *hold_lock(void *arg)
{
    (void)arg;
    xp_lock_take(&xp_arena_lock);
    return NULL;
}

static void lock_is_gone(void *arg)
{
    pthread_t thread;
    void *p[50];

    (void)arg;
    t_free(t_malloc(101));
    pthread_create(&thread, NULL, hold_lock, NULL);
    pthread_join(thread, NULL);
    uint64_t start = xp_os_now_ns();
    for (int i = 0; i < 50; i++) {
        p[i] = t_malloc(40000 + (size_t)i * 2000);
        EXPECT(p[i] != NULL);
        memset(p[i], i, 40000);
    }
    /* One wait in all, not one for each. */
    EXPECT(xp_os_now_ns() - start < 10 * XP_WAIT_NS);
    for (int i = 0; i < 50; i++)
        t_free(p[i]);
    EXPECT(xp_limits_timeouts() >= 1);
}

TEST(a_lock_that_is_never_given_costs_one_wait)
{
    check_child(lock_is_gone, NULL);
}

static void stay_below_heap_limit(void *arg)
{
    struct xp_core_options options;
    struct xp_core_stats stats;

    (void)arg;
    xp_core_options_default(&options);
    options.heap_limit_bytes = 40 * MEBI;
    EXPECT(xp_core_init(&options) == 0);
    EXPECT(t_malloc(41 * MEBI) == NULL);
    void *half = t_malloc(20 * MEBI + 101);
    EXPECT(half != NULL);
    EXPECT(t_malloc(20 * MEBI) == NULL);
    /* What is left serves all sizes, to the end and not beyond, and serves again. */
    for (int round = 0; round < 3; round++) {
        size_t small = exhaust(101), large = exhaust(100003);
        EXPECT(small > 12 * MEBI && small < 20 * MEBI);
        EXPECT(large > 12 * MEBI && large < 20 * MEBI);
    }
    xp_core_stats_get(&stats);
    EXPECT(stats.refused >= 8);
    t_free(half);
    EXPECT(t_malloc(30 * MEBI) != NULL);
}

TEST(beyond_the_heap_limit_every_allocation_fails)
{
    check_child(stay_below_heap_limit, NULL);
}
