/* SPDX-License-Identifier: MIT */
#include "core/sampling.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/real.h"
#include "core/sizeclass.h"
#include "core_malloc.h"
#include "test.h"

#define MEAN 16384

__attribute__((constructor)) static void start(void)
{
    struct xp_core_options options;
    xp_core_options_default(&options);
    options.sample_bytes = MEAN;
    options.seed = 20011;
    xp_core_init(&options);
}

struct sum {
    uint32_t node; /* only records of this one */
    uint64_t count;
    double weight, bytes;
};

static void add(const struct xp_record *record, void *block, void *arg)
{
    struct sum *sum = arg;

    if (record->node != sum->node)
        return;
    CHECK(xp_heap_usable_size(block, false) >= record->size);
    CHECK_EQ(record->row_class, xp_row_class(record->size));
    sum->count++;
    sum->weight += record->weight;
    sum->bytes += record->weight * (double)record->size;
}

static struct sum live(uint32_t node)
{
    struct sum sum = {.node = node};
    xp_heap_each_record(add, &sum);
    return sum;
}

/* The size that the chance is computed from. */
static double charged(size_t size)
{
    unsigned class = xp_class_find(size, 0);
    return class != XP_NO_CLASS ? (double)xp_class_size[class] : (double)((size + 4095) & ~4095ull);
}

static void check_z(double estimated, double n, size_t size)
{
    double p = xp_hit_probability(charged(size) / MEAN);
    double z = (estimated - n) / sqrt(n * (1 - p) / p + 1e-9);
    if (fabs(z) > 4.5)
        printf("# size %zu: %g for %g, z = %g\n", size, estimated, n, z);
    CHECK(fabs(z) <= 4.5);
}

TEST(what_lives_is_estimated_without_bias)
{
    static const size_t sizes[] = {1, 16, 33, 101, 500, 1000, 1025, 3001, 20011, 32769, 100003};
    static void *p[660000];

    for (size_t i = 0; i < XP_ARRAY_LENGTH(sizes); i++) {
        size_t n = 40000000 / (sizes[i] + 60);
        t_node = 100 + (uint32_t)i;
        for (size_t k = 0; k < n; k++)
            CHECK((p[k] = t_malloc(sizes[i])) != NULL);
        struct sum sum = live(t_node);
        check_z(sum.weight, (double)n, sizes[i]);
        CHECK_NEAR(sum.bytes, sum.weight * (double)sizes[i], sum.bytes * 1e-9);
        uint64_t before = t_taken;
        for (size_t k = 0; k < n; k++)
            t_free(p[k]);
        CHECK_EQ(t_taken - before, sum.count);
        CHECK_EQ(live(t_node).count, 0);
    }
}

TEST(what_comes_and_goes_is_estimated_without_bias)
{
    static const size_t sizes[] = {48, 700, 5000, 70001};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(sizes); i++) {
        int n = 200003;
        t_taken_weight = 0;
        for (int k = 0; k < n; k++)
            t_free(t_malloc(sizes[i]));
        check_z(t_taken_weight, n, sizes[i]);
    }
}

TEST(flushing_lists_moves_no_sample)
{
    int n = 100003;

    t_taken_weight = 0;
    for (int k = 0; k < n; k++) {
        t_free(t_malloc(201));
        if (k % 7 == 0)
            xp_heap_trim();
    }
    check_z(t_taken_weight, n, 201);
}

TEST(unsampled_blocks_move_no_countdown)
{
    int n = 300007;

    t_taken_weight = 0;
    for (int k = 0; k < n; k++) {
        t_free(t_malloc(301));
        uint64_t taken = t_taken;
        void *p = xp_heap_alloc_unsampled(301, 0, 0);
        t_free(p);
        CHECK_EQ(t_taken, taken);
    }
    check_z(t_taken_weight, n, 301);
}

static void *short_life(void *arg)
{
    double *weight = arg;

    for (int i = 0; i < 50; i++)
        t_free(t_malloc(1001));
    *weight += t_taken_weight;
    xp_heap_thread_exit();
    return NULL;
}

TEST(short_threads_are_estimated_without_bias)
{
    pthread_t thread;
    double weight = 0;

    for (int i = 0; i < 1009; i++) {
        pthread_create(&thread, NULL, short_life, &weight);
        pthread_join(thread, NULL);
    }
    check_z(weight, 1009 * 50, 1001);
}

TEST(a_due_state_is_consumed_at_once)
{
    for (int round = 0; round < 100; round++) {
        void *block;
        struct xp_due due;
        int r;
        while ((block = xp_fast_alloc(1024)) != NULL ||
               (r = xp_heap_alloc_slow(1024, 0, 0, &block, &due)) == 0)
            t_free(block);
        CHECK_EQ(r, XP_DUE);
        CHECK(due.weight > 1);
        CHECK_EQ(due.row_class, xp_row_class(1024));
    }
}

TEST(a_resize_in_place_is_drawn_anew_and_gives_its_record_back)
{
    struct xp_record record = {
        .size = 200003, .weight = 3, .node = 7, .row_class = (uint16_t)xp_row_class(200003)};
    struct xp_record back;
    struct xp_due due;
    bool had, is_due;
    void *moved;
    void *p = xp_heap_alloc_sampled(200003, 0, 0, &record);

    CHECK_EQ(live(7).count, 1);
    CHECK_EQ(xp_heap_resize_pages(p, 70001, &moved, &back, &had, &due, &is_due), 0);
    CHECK(had);
    CHECK_EQ(back.node, 7);
    CHECK_EQ(live(7).count, 0);
    record.size = 70001;
    record.row_class = (uint16_t)xp_row_class(70001);
    xp_heap_attach_record(moved, &record);
    CHECK_EQ(live(7).count, 1);
    CHECK_EQ(xp_heap_free_slow(moved, &back), XP_FREE_SAMPLED);
    CHECK_EQ(xp_heap_free_slow(moved, &back), XP_FREE_INVALID);
    xp_heap_release_sampled(moved);
    CHECK_EQ(xp_heap_free_slow(moved, &back), XP_FREE_INVALID);
}

TEST(a_sampled_block_is_freed_once_and_knows_its_size)
{
    struct xp_record record = {.size = 101, .weight = 9, .node = 11, .row_class = 6};
    struct xp_record back;

    for (size_t size = 101; size < 40000000; size = size * 19 + 3) {
        record.size = size;
        record.row_class = (uint16_t)xp_row_class(size);
        void *p = xp_heap_alloc_sampled(size, 0, XP_ALLOC_ZERO, &record);
        CHECK(p != NULL);
        CHECK_EQ(live(11).count, 1);
        CHECK(xp_heap_resize_stay(p, size - 1));
        CHECK_EQ(live(11).bytes, 9 * (double)(size - 1));
        CHECK(xp_heap_usable_size(p, true) >= size);
        CHECK_EQ(xp_heap_free_slow(p, &back), XP_FREE_SAMPLED);
        CHECK_EQ(back.size, size - 1);
        CHECK_EQ(back.resized, -1);
        CHECK_EQ(back.flags, XP_RECORD_USABLE_ASKED);
        CHECK_EQ(xp_heap_free_slow(p, &back), XP_FREE_INVALID);
        xp_heap_release_sampled(p);
        CHECK_EQ(live(11).count, 0);
    }
}
