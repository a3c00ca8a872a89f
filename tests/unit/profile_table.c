/* SPDX-License-Identifier: MIT */
#include "profile/table.h"

#include <errno.h>

#include "base/os.h"
#include "test.h"

TEST(rows_are_found_again_however_many_there_are)
{
    struct xp_table table;

    CHECK_EQ(xp_table_init(&table, 0), 0);
    for (uint32_t i = 0; i < 30011; i++) {
        struct xp_table_row *row = xp_table_row(&table, i, i % 7);
        CHECK(row != NULL);
        CHECK_EQ(row->alloc_bytes, 0);
        row->alloc_bytes = i + 1;
    }
    CHECK_EQ(table.count, 30011);
    for (uint32_t i = 0; i < 30011; i++)
        CHECK_EQ(xp_table_row(&table, i, i % 7)->alloc_bytes, i + 1);
    CHECK_EQ(xp_table_row(&table, 5, 6)->alloc_bytes, 0);
    CHECK_EQ(table.count, 30012);
    xp_table_fini(&table);
}

TEST(a_table_that_cannot_grow_keeps_its_rows)
{
    struct xp_table table;
    uint32_t made = 0;

    CHECK_EQ(xp_table_init(&table, 300), 0);
    xp_os_fault_every(1, 1u << XP_OS_MAP, ENOMEM);
    while (xp_table_row(&table, made, 0))
        made++;
    xp_os_fault_every(0, 0, 0);
    CHECK_EQ(made, 512);
    CHECK(xp_table_row(&table, 511, 0) != NULL);
    CHECK(xp_table_row(&table, 512, 0) != NULL);
    xp_table_fini(&table);
}

TEST(whole_numbers_stay_whole_at_any_size)
{
    static const double values[] = {1, 23, 2323, 1e9, 0x1p40 + 1, 0x1p52 + 1};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(values); i++) {
        for (uint64_t seed = 0; seed < 2000; seed++) {
            struct xp_table_row row = {.node = 7,
                                       .row_class = 3,
                                       .inuse_objects = values[i],
                                       .inuse_bytes = values[i],
                                       .alloc_objects = values[i],
                                       .alloc_bytes = values[i]};
            struct pp_counts c;
            xp_table_round(&row, seed, &c);
            CHECK_EQ(c.inuse_objects, (int64_t)values[i]);
            CHECK_EQ(c.alloc_bytes, (int64_t)values[i]);
        }
    }
}

TEST(rounding_is_right_on_average_over_seeds)
{
    const struct xp_table_row row = {.node = 7,
                                     .row_class = 3,
                                     .inuse_objects = 1.23,
                                     .inuse_bytes = 101.71,
                                     .alloc_objects = 2.5,
                                     .alloc_bytes = 999.01};
    double sums[4] = {0};
    const int seeds = 40000;

    for (int seed = 0; seed < seeds; seed++) {
        struct pp_counts c;
        xp_table_round(&row, (uint64_t)seed * 0x9e3779b97f4a7c15u, &c);
        sums[0] += (double)c.inuse_objects;
        sums[1] += (double)c.inuse_bytes;
        sums[2] += (double)c.alloc_objects;
        sums[3] += (double)c.alloc_bytes;
        CHECK(c.inuse_objects == 1 || c.inuse_objects == 2);
    }
    /* Standard error at most 0.5 / 200 = 0.0025. */
    CHECK_NEAR(sums[0] / seeds, 1.23, 0.0125);
    CHECK_NEAR(sums[1] / seeds, 101.71, 0.0125);
    CHECK_NEAR(sums[2] / seeds, 2.5, 0.0125);
    CHECK_NEAR(sums[3] / seeds, 999.01, 0.0125);
}

TEST(a_row_moves_only_when_its_estimate_does)
{
    struct pp_counts a, b;

    for (uint32_t node = 0; node < 1000; node++) {
        struct xp_table_row row = {.node = node,
                                   .inuse_objects = 3.7,
                                   .inuse_bytes = 370.3,
                                   .alloc_objects = 10.1,
                                   .alloc_bytes = 1010.2};
        xp_table_round(&row, 23, &a);
        xp_table_round(&row, 23, &b);
        CHECK(memcmp(&a, &b, sizeof(a)) == 0);
        row.alloc_objects += 1;
        row.alloc_bytes += 101;
        xp_table_round(&row, 23, &b);
        CHECK_EQ(b.alloc_objects, a.alloc_objects + 1);
        CHECK_EQ(b.alloc_bytes, a.alloc_bytes + 101);
        CHECK_EQ(b.inuse_bytes, a.inuse_bytes);
    }
}

TEST(no_reader_sees_more_in_use_than_allocated_or_bytes_without_an_object)
{
    for (uint32_t node = 0; node < 5000; node++) {
        /* All weights are >= 1; sums of floating point may miss by a hair, or lag behind. */
        struct xp_table_row row = {.node = node,
                                   .inuse_objects = node % 3 * 0.4,
                                   .inuse_bytes = node % 3 * 40.4,
                                   .alloc_objects = node % 3 * 0.4 - node % 5 * 1e-9,
                                   .alloc_bytes = node % 3 * 40.4 + node % 2 * 1e-9};
        struct pp_counts c;
        xp_table_round(&row, node, &c);
        CHECK(c.inuse_objects <= c.alloc_objects && c.inuse_bytes <= c.alloc_bytes);
        CHECK(c.inuse_bytes == 0 || c.inuse_objects > 0);
        CHECK(c.alloc_bytes == 0 || c.alloc_objects > 0);
        CHECK(c.inuse_objects >= 0 && c.inuse_bytes >= 0);
    }
}

TEST(numbers_beyond_all_memory_do_not_overflow)
{
    const struct xp_table_row row = {
        .inuse_objects = 1e300, .inuse_bytes = -5, .alloc_bytes = 1e18};
    struct pp_counts c;

    xp_table_round(&row, 1, &c);
    CHECK_EQ(c.inuse_objects, (int64_t)1 << 60);
    CHECK_EQ(c.inuse_bytes, 0);
    CHECK_EQ(c.alloc_bytes, 1000000000000000000);
}
