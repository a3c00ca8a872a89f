/* SPDX-License-Identifier: MIT */
#include "core/sizeclass.h"

#include "core/heap.h"
#include "test.h"

TEST(each_size_gets_the_least_class_that_holds_it)
{
    for (size_t size = 0; size <= XP_MEDIUM_MAX; size++) {
        unsigned class = xp_class_find(size, 0);
        CHECK(class < XP_CLASSES);
        CHECK(xp_class_size[class] >= size);
        CHECK(class == 0 || xp_class_size[class - 1] < size);
        CHECK_EQ(class < XP_SMALL_CLASSES, size <= XP_SMALL_MAX);
    }
    CHECK_EQ(xp_class_find(XP_MEDIUM_MAX + 1, 0), XP_NO_CLASS);
}

TEST(aligned_requests_get_a_class_of_multiples)
{
    for (size_t align = 1; align <= 65536; align *= 2) {
        for (size_t size = 0; size <= XP_MEDIUM_MAX; size += 13) {
            unsigned class = xp_class_find(size, align);
            if (class == XP_NO_CLASS) {
                CHECK(align > XP_MEDIUM_MAX);
                continue;
            }
            CHECK(xp_class_size[class] >= size);
            CHECK(align <= 16 || xp_class_size[class] % align == 0);
        }
    }
}

TEST(rows_are_dense_and_grow_with_the_size)
{
    unsigned last = 0;

    CHECK_EQ(xp_row_class(0), 0);
    for (size_t size = 1; size < (size_t)1 << 47; size += size / 50 + 1) {
        unsigned row = xp_row_class(size);
        CHECK(row < XP_ROW_CLASSES);
        CHECK(row == last || row == last + 1);
        CHECK(xp_row_class_size(row) >= size);
        CHECK(row == 0 || xp_row_class_size(row - 1) < size);
        last = row;
    }
    CHECK(xp_row_class(PTRDIFF_MAX) < XP_ROW_CLASSES);
    CHECK(xp_row_class(SIZE_MAX) < XP_ROW_CLASSES);
}
