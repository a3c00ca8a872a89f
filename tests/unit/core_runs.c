/* SPDX-License-Identifier: MIT */
#include "core/runs.h"

#include "core/arena.h"
#include "test.h"

static uint64_t words[XP_SEGMENT_SLICES / 64];

static bool bit(uint32_t i)
{
    return words[i / 64] >> (i % 64) & 1;
}

TEST(runs_are_set_counted_and_cleared_exactly)
{
    for (uint32_t first = 0; first < XP_SEGMENT_SLICES; first += 7) {
        for (uint32_t count = 1; first + count <= XP_SEGMENT_SLICES; count += 13) {
            memset(words, 0, sizeof(words));
            xp_run_set(words, first, count);
            CHECK_EQ(xp_run_count(words, 0, XP_SEGMENT_SLICES), count);
            CHECK(bit(first) && bit(first + count - 1));
            CHECK(first == 0 || !bit(first - 1));
            CHECK_EQ(xp_run_next_set(words, 0), first);
            CHECK_EQ(xp_run_next_clear(words, first), first + count);
            xp_run_clear(words, first, count);
            CHECK_EQ(xp_run_count(words, 0, XP_SEGMENT_SLICES), 0);
        }
    }
}

TEST(the_lowest_aligned_run_is_found)
{
    uint32_t first, longest;

    memset(words, 0, sizeof(words));
    xp_run_set(words, 3, 5);
    xp_run_set(words, 61, 30);
    CHECK(xp_run_find(words, 5, 0, 1, &first, &longest));
    CHECK_EQ(first, 3);
    CHECK(xp_run_find(words, 6, 0, 1, &first, &longest));
    CHECK_EQ(first, 61);
    CHECK(xp_run_find(words, 16, 0, 16, &first, &longest));
    CHECK_EQ(first, 64);
    CHECK(xp_run_find(words, 16, 3, 16, &first, &longest));
    CHECK_EQ(first, 61);
    CHECK(!xp_run_find(words, 31, 0, 1, &first, &longest));
    CHECK_EQ(longest, 30);
    CHECK(!xp_run_find(words, 28, 0, 64, &first, &longest));
}
