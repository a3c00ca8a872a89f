/* SPDX-License-Identifier: MIT */
#include "report/unit.h"

#include "test.h"

static char buffer[HR_NUMBER_SIZE];

static const char *bytes(int64_t value, enum hr_unit unit)
{
    return hr_format_value(buffer, value, HR_BYTES, unit);
}

TEST(bytes_get_the_largest_unit_they_fill)
{
    CHECK_STR(bytes(0, HR_UNIT_AUTO), "0");
    CHECK_STR(bytes(1023, HR_UNIT_AUTO), "1023B");
    CHECK_STR(bytes(1024, HR_UNIT_AUTO), "1kB");
    CHECK_STR(bytes(1536, HR_UNIT_MINIMUM), "1.50kB");
    CHECK_STR(bytes(12939428, HR_UNIT_AUTO), "12.34MB");
    CHECK_STR(bytes(INT64_MAX, HR_UNIT_AUTO), "8192PB");
    CHECK_STR(bytes(-2048, HR_UNIT_AUTO), "-2kB");
}

TEST(a_unit_that_was_asked_for_is_kept)
{
    CHECK_STR(bytes(2323, HR_UNIT_MB), "0");
    CHECK_STR(bytes(23230, HR_UNIT_MB), "0.02MB");
    CHECK_STR(bytes(1 << 20, HR_UNIT_KB), "1024kB");
    CHECK_STR(bytes(101, HR_UNIT_B), "101B");
}

TEST(counts_have_no_unit)
{
    CHECK_STR(hr_format_value(buffer, 2323, HR_COUNT, HR_UNIT_MB), "2323");
    CHECK_STR(hr_format_value(buffer, -1, HR_COUNT, HR_UNIT_AUTO), "-1");
}

TEST(percentages_have_two_digits_or_more)
{
    CHECK_STR(hr_format_percent(buffer, 1, 3), "33.33%");
    CHECK_STR(hr_format_percent(buffer, 9996, 10000), "  100%");
    CHECK_STR(hr_format_percent(buffer, 9994, 10000), "99.94%");
    CHECK_STR(hr_format_percent(buffer, 1, 100), " 1.00%");
    CHECK_STR(hr_format_percent(buffer, 1, 1000), "  0.1%");
    CHECK_STR(hr_format_percent(buffer, 123, 100000), " 0.12%");
    CHECK_STR(hr_format_percent(buffer, 1, 10000000), "1e-05%");
    CHECK_STR(hr_format_percent(buffer, 0, 7), "    0%");
    CHECK_STR(hr_format_percent(buffer, 5, 0), "    0%");
    CHECK_STR(hr_format_percent(buffer, 23, 10), "230.00%");
}

TEST(units_are_found_by_any_of_their_names)
{
    CHECK_EQ(hr_unit_find("MB"), HR_UNIT_MB);
    CHECK_EQ(hr_unit_find("megabytes"), HR_UNIT_MB);
    CHECK_EQ(hr_unit_find("b"), HR_UNIT_B);
    CHECK_EQ(hr_unit_find("Bytes"), HR_UNIT_B);
    CHECK_EQ(hr_unit_find("minimum"), HR_UNIT_MINIMUM);
    CHECK_EQ(hr_unit_find("auto"), HR_UNIT_AUTO);
    CHECK_EQ(hr_unit_find("m"), HR_UNITS);
    CHECK_EQ(hr_unit_find(""), HR_UNITS);
    CHECK_EQ(hr_unit_find("b byte"), HR_UNITS);
}
