/* SPDX-License-Identifier: MIT */
#include "core/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/os.h"
#include "core/fast.h"
#include "core/sizeclass.h"
#include "core_malloc.h"
#include "test.h"

static unsigned char pattern(size_t i, size_t size)
{
    return (unsigned char)(i * 131 + size * 7 + 1);
}

static void fill(unsigned char *p, size_t size)
{
    for (size_t i = 0; i<size; i += size> 4096 ? 509 : 1)
        p[i] = pattern(i, size);
}

static bool is_filled(const unsigned char *p, size_t size)
{
    for (size_t i = 0; i<size; i += size> 4096 ? 509 : 1) {
        if (p[i] != pattern(i, size))
            return false;
    }
    return true;
}

TEST(blocks_of_every_size_are_apart_and_aligned)
{
    enum { N = 1500 };
    static unsigned char *p[N];
    static size_t sizes[N];

    for (int i = 0; i < N; i++) {
        sizes[i] = (size_t)i * i * 3 + (size_t)i % 7;
        p[i] = t_malloc(sizes[i]);
        CHECK(p[i] != NULL);
        CHECK_EQ((uintptr_t)p[i] % 16, 0);
        CHECK(xp_heap_usable_size(p[i], false) >= sizes[i]);
        CHECK(xp_heap_owns(p[i]));
        fill(p[i], sizes[i]);
    }
    for (int i = 0; i < N; i++)
        CHECK(is_filled(p[i], sizes[i]));
    for (int i = 0; i < N; i++) {
        t_free(p[(i * 7) % N]);
        CHECK_EQ(t_result, XP_FREE_DONE);
    }
}

TEST(every_alignment_up_to_two_mebibytes_holds)
{
    static const size_t sizes[] = {0, 1, 17, 101, 1000, 1025, 4097, 32768, 32769, 100003, 20000003};

    for (size_t align = 1; align <= (size_t)2 << 20; align *= 2) {
        for (size_t i = 0; i < XP_ARRAY_LENGTH(sizes); i++) {
            unsigned char *p = t_aligned(sizes[i], align, 0);
            CHECK(p != NULL);
            CHECK_EQ((uintptr_t)p % align, 0);
            CHECK(xp_heap_usable_size(p, false) >= sizes[i]);
            fill(p, sizes[i]);
            t_free(p);
            CHECK_EQ(t_result, XP_FREE_DONE);
        }
    }
}

TEST(seventy_thousand_objects_of_a_class_live_at_once)
{
    enum { N = 70001 };
    static uint32_t *p[N];

    for (uint32_t i = 0; i < N; i++) {
        p[i] = t_malloc(101);
        *p[i] = i;
    }
    for (uint32_t i = 0; i < N; i++)
        CHECK_EQ(*p[i], i);
    for (uint32_t i = 0; i < N; i += 2)
        t_free(p[i]);
    for (uint32_t i = 0; i < N; i += 2) {
        p[i] = t_malloc(101);
        *p[i] = i;
    }
    for (uint32_t i = 0; i < N; i++)
        CHECK_EQ(*p[i], i);
    for (uint32_t i = 0; i < N; i++)
        t_free(p[i]);
}

TEST(zeroed_blocks_are_zero_after_dirty_ones)
{
    static const size_t sizes[] = {1, 101, 1000, 3001, 30011, 70001, 3000017, 18000011};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(sizes); i++) {
        for (int round = 0; round < 3; round++) {
            unsigned char *p = t_malloc(sizes[i]);
            memset(p, 0xa5, sizes[i]);
            t_free(p);
            p = t_calloc(sizes[i]);
            for (size_t at = 0; at < sizes[i]; at++)
                CHECK(p[at] == 0);
            t_free(p);
        }
    }
}

TEST(absurd_sizes_fail_cleanly)
{
    void *block;
    struct xp_due due;

    CHECK_EQ(xp_heap_alloc_slow(SIZE_MAX, 0, 0, &block, &due), -ENOMEM);
    CHECK_EQ(xp_heap_alloc_slow((size_t)PTRDIFF_MAX + 1, 0, 0, &block, &due), -ENOMEM);
    CHECK_EQ(xp_heap_alloc_slow((size_t)1 << 47, 0, 0, &block, &due), -ENOMEM);
}

TEST(foreign_pointers_are_named_so)
{
    static char local[64];
    struct xp_record record;
    void *theirs = malloc(10);

    CHECK(!xp_fast_free(local));
    CHECK(!xp_fast_free(NULL));
    CHECK_EQ(xp_heap_free_slow(local, &record), XP_FREE_FOREIGN);
    CHECK_EQ(xp_heap_free_slow(theirs, &record), XP_FREE_FOREIGN);
    CHECK(!xp_heap_owns(theirs));
    CHECK_EQ(xp_heap_usable_size(local, false), 0);
    free(theirs);
}

TEST(a_huge_block_is_ours_from_its_first_byte_to_its_last_until_it_is_freed)
{
    const size_t size = 20000003;
    char *before = t_malloc(size), *p = t_malloc(size), *after = t_malloc(size);

    CHECK(before && p && after);
    size_t usable = xp_heap_usable_size(p, false);
    for (size_t at = 0; at < usable; at += at % 4096 ? 1 : 101 * 4096 - 1)
        CHECK(xp_heap_owns(p + at));
    CHECK(xp_heap_owns(p + usable - 1));
    CHECK_EQ(xp_heap_usable_size(p + 4096, false), 0);
    t_free(p);
    CHECK(!xp_heap_owns(p));
    CHECK(!xp_heap_owns(p + 4096));
    CHECK(xp_heap_owns(before) && xp_heap_owns(after));
    t_free(before);
    t_free(after);
}

TEST(a_large_block_is_freed_once)
{
    struct xp_record record;
    void *p = t_malloc(100003);

    CHECK_EQ(xp_heap_free_slow((char *)p + 4096, &record), XP_FREE_INVALID);
    t_free(p);
    CHECK_EQ(t_result, XP_FREE_DONE);
    CHECK_EQ(xp_heap_free_slow(p, &record), XP_FREE_INVALID);
}

static void *free_all(void *arg)
{
    void **p = arg;
    for (; *p; p++)
        t_free(*p);
    xp_heap_thread_exit();
    return NULL;
}

TEST(another_thread_frees_what_this_one_made)
{
    enum { N = 20011 };
    static void *p[N + 1];
    struct xp_core_stats before, after;
    pthread_t thread;

    xp_core_stats_get(&before);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < N; i++)
            p[i] = t_malloc((size_t)(i % 2011) + 1);
        pthread_create(&thread, NULL, free_all, p);
        pthread_join(thread, NULL);
    }
    xp_core_stats_get(&after);
    /* What a round took serves the next. */
    CHECK(after.live_bytes - before.live_bytes < 2 * (size_t)N * 1500);
}

static void *make_some(void *arg)
{
    void **p = arg;
    for (int i = 0; i < 1009; i++)
        p[i] = t_malloc(101);
    xp_heap_thread_exit();
    return NULL;
}

TEST(a_heap_is_adopted_by_the_next_thread)
{
    static void *p[1010];
    struct xp_core_stats before, after;
    pthread_t thread;

    for (int round = 0; round < 20; round++) {
        if (round == 1)
            xp_core_stats_get(&before);
        pthread_create(&thread, NULL, make_some, p);
        pthread_join(thread, NULL);
        for (int i = 0; i < 1009; i++)
            t_free(p[i]);
    }
    xp_core_stats_get(&after);
    CHECK_EQ(after.adopted_heaps - before.adopted_heaps, 19);
    CHECK(after.live_bytes <= before.live_bytes + ((size_t)1 << 20));
}

static void *use_after_exit(void *arg)
{
    void **p = arg;

    t_free(t_malloc(55));
    xp_heap_thread_exit();
    xp_heap_thread_exit();
    for (int i = 0; i < 101; i++) {
        p[i] = t_malloc((size_t)i * 977);
        fill(p[i], (size_t)i * 977);
    }
    for (int i = 0; i < 101; i += 2)
        t_free(p[i]);
    return NULL;
}

TEST(a_thread_may_allocate_after_its_exit)
{
    void *p[101];
    pthread_t thread;

    pthread_create(&thread, NULL, use_after_exit, p);
    pthread_join(thread, NULL);
    for (int i = 1; i < 101; i += 2) {
        CHECK(is_filled(p[i], (size_t)i * 977));
        t_free(p[i]);
        CHECK_EQ(t_result, XP_FREE_DONE);
    }
}

TEST(resizing_keeps_bytes_and_stays_where_it_can)
{
    struct xp_record record;
    struct xp_due due;
    bool had, is_due;
    void *moved;
    unsigned char *p = t_malloc(101);

    CHECK(xp_heap_resize_stay(p, 97));
    CHECK(xp_heap_resize_stay(p, 112));
    CHECK(!xp_heap_resize_stay(p, 113));
    CHECK_EQ(xp_heap_resize_pages(p, 5000, &moved, &record, &had, &due, &is_due), -ENOTSUP);
    t_free(p);

    size_t size = 1000003;
    p = t_malloc(size);
    fill(p, size);
    CHECK(xp_heap_resize_stay(p, size + 9));
    CHECK(!xp_heap_resize_stay(p, size + 90000));
    for (size_t now = size; now < 300000000; now = now * 3 / 2) {
        CHECK_EQ(xp_heap_resize_pages(p, now, &moved, &record, &had, &due, &is_due), 0);
        p = moved;
        CHECK(is_filled(p, size));
        p[now - 1] = 1;
        CHECK(xp_heap_usable_size(p, false) >= now);
    }
    CHECK_EQ(xp_heap_resize_pages(p, 2000003, &moved, &record, &had, &due, &is_due), 0);
    CHECK(is_filled(moved, size));
    t_free(moved);
    CHECK_EQ(t_result, XP_FREE_DONE);
}

TEST(the_fast_answer_to_realloc_is_that_of_the_slow_one)
{
    static const size_t sizes[] = {1, 16, 17, 256, 257, 1024, 1025, 5003, 32768};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(sizes); i++) {
        void *p = t_malloc(sizes[i]);
        CHECK(xp_fast_stays(p, sizes[i]));
        for (size_t size = 1; size < 40009; size++) {
            if (xp_fast_stays(p, size) != xp_heap_resize_stay(p, size))
                CHECK_EQ(size, sizes[i]);
        }
        CHECK(!xp_fast_stays(p, 0)); /* frees */
        CHECK(!xp_fast_stays(p, SIZE_MAX));
        t_free(p);
    }
    CHECK(!xp_fast_stays(NULL, 101));
    CHECK(!xp_fast_stays(&sizes, 101));
    void *large = t_malloc(100003);
    CHECK(!xp_fast_stays(large, 100003));
    t_free(large);
}

enum { MANY = 40009 };
static void *many[MANY + 1];
static _Atomic int stage;

static void wait_stage(int wanted)
{
    while (atomic_load(&stage) != wanted)
        xp_os_sleep_ns(1000000);
}

static void *fill_and_sleep(void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY; i++)
        many[i] = t_malloc(101);
    atomic_store(&stage, 1);
    wait_stage(2);
    xp_heap_thread_exit();
    return NULL;
}

static void *only_free(void *arg)
{
    free_all(arg);
    return NULL;
}

static size_t live_bytes(void)
{
    struct xp_core_stats stats;
    xp_core_stats_get(&stats);
    return stats.live_bytes;
}

TEST(full_pages_go_back_while_their_maker_sleeps)
{
    pthread_t maker, other;

    for (int round = 0; round < 2; round++) {
        size_t before = live_bytes();
        atomic_store(&stage, 0);
        pthread_create(&maker, NULL, fill_and_sleep, NULL);
        wait_stage(1);
        CHECK(live_bytes() >= before + (size_t)MANY * 101);
        if (round == 0) {
            for (int i = 0; i < MANY; i++)
                t_free(many[i]);
        } else {
            pthread_create(&other, NULL, only_free, many); /* has no heap of its own */
            pthread_join(other, NULL);
        }
        CHECK(live_bytes() <= before + ((size_t)1 << 18));
        atomic_store(&stage, 2);
        pthread_join(maker, NULL);
    }
}

static void *fill_half_and_exit(void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY; i++)
        many[i] = t_malloc(i % 1000 == 0 ? 5003 : 101);
    for (int i = 1; i < MANY; i += 2)
        t_free(many[i]);
    xp_heap_thread_exit();
    return NULL;
}

TEST(pages_of_resting_heaps_go_back_with_their_last_block)
{
    pthread_t thread;
    size_t before = live_bytes();

    pthread_create(&thread, NULL, fill_half_and_exit, NULL);
    pthread_join(thread, NULL);
    CHECK(live_bytes() >= before + (size_t)MANY * 50);
    for (int i = 0; i < MANY; i += 2)
        t_free(many[i]);
    CHECK(live_bytes() <= before + ((size_t)1 << 20));
}

TEST(blocks_left_by_a_dead_thread_serve_the_living)
{
    pthread_t thread;
    static void *mine[MANY / 2];

    pthread_create(&thread, NULL, fill_half_and_exit, NULL);
    pthread_join(thread, NULL);
    size_t before = live_bytes();
    for (int i = 0; i < MANY / 2; i++)
        mine[i] = t_malloc(101);
    CHECK(live_bytes() <= before + (size_t)MANY * 20);
    for (int i = 0; i < MANY / 2; i++)
        t_free(mine[i]);
    for (int i = 0; i < MANY; i += 2)
        t_free(many[i]);
}

struct ring {
    void *_Atomic slots[509];
    _Atomic bool stop;
};

static void *swap_blocks(void *arg)
{
    struct ring *ring = arg;
    uint64_t random = (uintptr_t)&random;

    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        size_t size = (random >> 33) % ((random >> 60) == 0 ? 100000 : 600);
        unsigned char *p = t_malloc(size + 8);
        p[0] = 1;
        *(uint64_t *)p = size;
        void *old = atomic_exchange(&ring->slots[(random >> 20) % 509], p);
        if (old) {
            if (*(uint64_t *)old > 100000)
                abort();
            t_free(old);
        }
    }
    xp_heap_thread_exit();
    return NULL;
}

TEST(threads_pass_blocks_around)
{
    static struct ring ring;
    pthread_t threads[6];

    for (int i = 0; i < 6; i++)
        pthread_create(&threads[i], NULL, swap_blocks, &ring);
    for (int i = 0; i < 6; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 509; i++)
        t_free(ring.slots[i]);
}
