/* SPDX-License-Identifier: MIT */
/* Exact mode: every allocation is due. */
#include "core/sampled.h"

#include <pthread.h>
#include <stdlib.h>

#include "core_malloc.h"
#include "test.h"

__attribute__((constructor)) static void start(void)
{
    struct xp_core_options options;
    xp_core_options_default(&options);
    options.sample_bytes = 1;
    xp_core_init(&options);
}

struct sum {
    uint64_t count, bytes, wrong;
};

static void add(const struct xp_record *record, void *block, void *arg)
{
    struct sum *sum = arg;

    (void)block;
    sum->count++;
    sum->bytes += record->size;
    if (record->weight != 1 || record->row_class != xp_row_class(record->size))
        sum->wrong++;
}

static struct sum live(void)
{
    struct sum sum = {0, 0, 0};
    xp_heap_each_record(add, &sum);
    return sum;
}

TEST(every_allocation_has_a_record_of_weight_one)
{
    enum { N = 200003 };
    static void *p[N];
    uint64_t bytes = 0;

    for (int i = 0; i < N; i++) {
        size_t size = i % 1000 == 0 ? 50021 : i % 100 == 0 ? 3001 : (size_t)(i % 211);
        p[i] = t_malloc(size);
        bytes += size;
    }
    struct sum sum = live();
    CHECK_EQ(sum.count, N);
    CHECK_EQ(sum.bytes, bytes);
    CHECK_EQ(sum.wrong, 0);
    for (int i = 0; i < N; i++) {
        t_free(p[i]);
        CHECK_EQ(t_result, XP_FREE_SAMPLED);
    }
    CHECK_EQ(live().count, 0);
}

TEST(unsampled_blocks_do_not_feed_the_fast_path)
{
    for (size_t size = 1; size < 40000; size = size * 3 + 1) {
        void *p[50];
        for (int i = 0; i < 50; i++)
            p[i] = xp_heap_alloc_unsampled(size, 0, 0);
        for (int i = 0; i < 50; i++)
            t_free(p[i]);
        CHECK(xp_fast_alloc(size) == NULL);
    }
}

static void *churn(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    void *p[101] = {NULL};

    for (int i = 0; i < 60000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % 101;
        if (p[at])
            t_free(p[at]);
        p[at] = t_malloc((random >> 40) % ((random >> 60) ? 300 : 50000));
    }
    for (int i = 0; i < 101; i++) {
        if (p[i])
            t_free(p[i]);
    }
    xp_heap_thread_exit();
    return NULL;
}

TEST(walks_go_on_beside_threads_that_allocate)
{
    pthread_t threads[4];

    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, churn, (void *)(i + 1));
    for (int i = 0; i < 50; i++)
        CHECK_EQ(live().wrong, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(live().count, 0);
}

TEST(empty_pages_of_records_go_back)
{
    enum { N = 100003 };
    static void *p[N];
    struct xp_core_stats before, full, after;

    xp_core_stats_get(&before);
    for (int i = 0; i < N; i++)
        p[i] = t_malloc(101);
    xp_core_stats_get(&full);
    CHECK(full.live_bytes - before.live_bytes >= (size_t)N * 101);
    CHECK(full.live_bytes - before.live_bytes <= (size_t)N * 180);
    for (int i = 0; i < N; i++)
        t_free(p[i]);
    xp_core_stats_get(&after);
    CHECK(after.live_bytes <= before.live_bytes + ((size_t)1 << 18));
}
