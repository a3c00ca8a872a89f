/* SPDX-License-Identifier: MIT */
/* Frees in pages of others, in batches; caches of no size; a page whose count is off. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "core/arena.h"
#include "core_malloc.h"
#include "test.h"

#define BLOCKS 31
#define SIZE   101

__attribute__((constructor)) static void start(void)
{
    struct xp_core_options options;

    xp_core_options_default(&options);
    options.cache_max_bytes = 0;
    xp_core_init(&options);
}

/* A thread that makes blocks and lives on. */
static struct {
    sem_t made, end;
    pthread_t thread;
    void *block[2][BLOCKS]; /* of two pages */
} other;

static void *make(void *arg)
{
    (void)arg;
    for (int i = 0; i < BLOCKS; i++) {
        other.block[0][i] = t_malloc(SIZE);
        other.block[1][i] = t_malloc(2 * SIZE);
    }
    sem_post(&other.made);
    sem_wait(&other.end);
    return NULL;
}

static void begin(void)
{
    sem_init(&other.made, 0, 0);
    sem_init(&other.end, 0, 0);
    CHECK_EQ(pthread_create(&other.thread, NULL, make, NULL), 0);
    sem_wait(&other.made);
    t_free(t_malloc(100003)); /* a slow path: nothing of before is waiting */
}

static void end(void)
{
    sem_post(&other.end);
    pthread_join(other.thread, NULL);
}

static uint64_t remote_frees(void)
{
    struct xp_core_stats stats;

    xp_core_stats_get(&stats);
    return stats.remote_frees;
}

static void free_some(int kind, int from, int to)
{
    for (int i = from; i < to; i++) {
        t_free(other.block[kind][i]);
        CHECK_EQ(t_result, XP_FREE_DONE);
    }
}

TEST(the_second_block_for_a_page_begins_a_batch_and_a_full_one_goes)
{
    begin();
    uint64_t before = remote_frees();
    free_some(0, 0, 1);
    CHECK_EQ(remote_frees() - before, 1);
    free_some(0, 1, XP_BATCH);
    CHECK_EQ(remote_frees() - before, 1);
    free_some(0, XP_BATCH, XP_BATCH + 1);
    CHECK_EQ(remote_frees() - before, XP_BATCH + 1);
    end();
}

TEST(a_batch_goes_when_a_block_for_another_page_comes)
{
    begin();
    uint64_t before = remote_frees();
    free_some(0, 0, 7);
    CHECK_EQ(remote_frees() - before, 1);
    free_some(1, 0, 1);
    CHECK_EQ(remote_frees() - before, 8);
    end();
}

TEST(a_batch_goes_in_every_slow_path)
{
    begin();
    uint64_t before = remote_frees();
    free_some(0, 0, 7);
    CHECK_EQ(remote_frees() - before, 1);
    void *p = t_malloc(100003);
    CHECK_EQ(remote_frees() - before, 7);
    t_free(p);
    end();
}

static void *free_and_exit(void *arg)
{
    (void)arg;
    t_free(t_malloc(SIZE)); /* has a heap */
    free_some(0, 0, 7);
    xp_heap_thread_exit();
    return NULL;
}

TEST(a_batch_goes_when_the_thread_ends)
{
    pthread_t thread;

    begin();
    uint64_t before = remote_frees();
    CHECK_EQ(pthread_create(&thread, NULL, free_and_exit, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(remote_frees() - before, 7);
    end();
}

TEST(without_room_for_caches_blocks_come_and_go)
{
    static unsigned char *p[211];

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 211; i++) {
            p[i] = t_malloc((size_t)i * 151 + 7);
            memset(p[i], i, (size_t)i * 151 + 7);
        }
        for (int i = 0; i < 211; i++) {
            CHECK_EQ(p[i][i * 151 + 6], i);
            t_free(p[i]);
            CHECK_EQ(t_result, XP_FREE_DONE);
        }
    }
}

TEST(a_page_whose_count_is_off_is_not_given_away)
{
    enum { N = 503 };
    static unsigned char *p[N];

    for (int i = 0; i < N; i++) {
        p[i] = t_malloc(1001);
        memset(p[i], 0x5a, 1001);
    }
    unsigned char *kept = p[N / 2];
    struct xp_page *page = xp_arena_page_of(kept);
    /* As a handler leaves it that came between a push and its count. The first free makes the page
     * the thread's own again. */
    bool first = true;
    for (int i = 0; i < N; i++) {
        bool same = xp_arena_page_of(p[i]) == page;
        if (p[i] != kept)
            t_free(p[i]);
        if (same && first && p[i] != kept) {
            first = false;
            atomic_fetch_sub(&page->out, 1);
        }
    }
    for (int i = 0; i < N; i++) {
        if (p[i] != kept) {
            p[i] = t_malloc(1001);
            CHECK(p[i] != kept);
            memset(p[i], 0xa5, 1001);
        }
    }
    for (int i = 0; i < 1001; i++)
        CHECK_EQ(kept[i], 0x5a);
    CHECK_EQ(xp_heap_usable_size(kept, false), 1024);
    for (int i = 0; i < N; i++)
        t_free(p[i]);
    CHECK_EQ(t_result, XP_FREE_DONE);
}
