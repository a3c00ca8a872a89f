/* SPDX-License-Identifier: MIT */
#include "preload/value.h"

#include "test.h"

#define NOTHING 20011u /* what a failed call must leave alone */

static uint64_t value(const struct xp_value_type *type, const char *text)
{
    uint64_t number = NOTHING;

    if (!xp_value_parse(type, text, &number))
        CHECK_EQ(number, NOTHING);
    return number;
}

static const char *printed(const struct xp_value_type *type, uint64_t number)
{
    static char buffer[256];
    struct xp_out out;

    xp_out_init(&out, -1, buffer, sizeof(buffer) - 1);
    xp_value_print(&out, type, number);
    buffer[out.length] = 0;
    return buffer;
}

static const char *printed_type(const struct xp_value_type *type)
{
    static char buffer[256];
    struct xp_out out;

    xp_out_init(&out, -1, buffer, sizeof(buffer) - 1);
    xp_value_print_type(&out, type);
    buffer[out.length] = 0;
    return buffer;
}

TEST(sizes_have_units_of_1024)
{
    static const struct xp_value_type size = {
        .kind = XP_VALUE_SIZE, .least = 7, .most = 1ull << 46};

    CHECK_EQ(value(&size, "7"), 7);
    CHECK_EQ(value(&size, "23k"), 23 << 10);
    CHECK_EQ(value(&size, "23KiB"), 23 << 10);
    CHECK_EQ(value(&size, "23mB"), 23 << 20);
    CHECK_EQ(value(&size, "3G"), 3ll << 30);
    CHECK_EQ(value(&size, "64T"), 1ll << 46);
}

TEST(sizes_that_are_none_are_refused)
{
    static const struct xp_value_type size = {
        .kind = XP_VALUE_SIZE, .least = 7, .most = 1ull << 46};
    static const char *const bad[] = {"6",    "65T",  "16777216T", "18446744073709551616",
                                      "-7",   "+7",   "7x",        "7kk",
                                      "7ki2", "k",    " 7",        "7 ",
                                      "1.5G", "0x10", "7Bk"};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(bad); i++)
        CHECK_EQ(value(&size, bad[i]), NOTHING);
}

TEST(a_word_stands_for_more_than_any_number)
{
    static const struct xp_value_type delay = {
        .kind = XP_VALUE_COUNT, .least = 0, .most = 1u << 30, .words = "never"};
    static const struct xp_value_type plain = {.kind = XP_VALUE_COUNT, .least = 0, .most = 9};

    CHECK(value(&delay, "never") == XP_VALUE_WORD);
    CHECK_EQ(value(&delay, "0"), 0);
    CHECK_EQ(value(&delay, "1073741824"), 1 << 30);
    CHECK_EQ(value(&delay, "1073741825"), NOTHING);
    CHECK_EQ(value(&delay, "18446744073709551615"), NOTHING);
    CHECK_EQ(value(&delay, "nev"), NOTHING);
    CHECK_EQ(value(&plain, "never"), NOTHING);
    CHECK_STR(printed(&delay, XP_VALUE_WORD), "never");
    CHECK_STR(printed(&delay, 101), "101");
    CHECK_STR(printed_type(&delay), "a whole number from 0 to 1073741824 or never");
}

TEST(layers_are_taken_away_by_name)
{
    static const struct xp_value_type layers = {.kind = XP_VALUE_LESS,
                                                .words = "mag|batch|adopt|cut"};

    CHECK_EQ(value(&layers, "-mag"), 0xe);
    CHECK_EQ(value(&layers, "-cut,-batch"), 0x5);
    CHECK_EQ(value(&layers, "-cut,-cut"), 0x7);
    CHECK_EQ(value(&layers, "-mag,-batch,-adopt,-cut"), 0);
    CHECK_STR(printed(&layers, 0xf), "all");
    CHECK_STR(printed(&layers, 0x5), "-batch,-cut");
    CHECK_STR(printed(&layers, 0), "-mag,-batch,-adopt,-cut");
    CHECK_STR(printed_type(&layers), "a list of some of -mag,-batch,-adopt,-cut");
}

TEST(layers_that_nobody_knows_are_refused)
{
    static const struct xp_value_type layers = {.kind = XP_VALUE_LESS,
                                                .words = "mag|batch|adopt|cut"};
    static const char *const bad[] = {"mag",   "-",          "-ma",       "-mags",      "-mag,",
                                      ",-mag", "-mag,,-cut", "-mag -cut", "-mag|batch", "--mag"};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(bad); i++)
        CHECK_EQ(value(&layers, bad[i]), NOTHING);
}

TEST(a_rate_of_release_becomes_a_delay)
{
    static const struct xp_value_type rate = {.kind = XP_VALUE_RATE, .least = 0, .most = 1000000};

    CHECK(value(&rate, "0") == XP_VALUE_WORD);
    CHECK(value(&rate, "0.0") == XP_VALUE_WORD);
    CHECK_EQ(value(&rate, "1"), 100);
    CHECK_EQ(value(&rate, "1.0"), 100);
    CHECK_EQ(value(&rate, "0.5"), 200);
    CHECK_EQ(value(&rate, "0.001"), 100000);
    CHECK_EQ(value(&rate, "2.5"), 40);
    CHECK_EQ(value(&rate, "10"), 10);
    CHECK_EQ(value(&rate, "100.0001"), 1);
    CHECK_EQ(value(&rate, "101"), 0);
    CHECK_EQ(value(&rate, "1000"), 0);
    CHECK_EQ(value(&rate, "1001"), NOTHING);
    CHECK_EQ(value(&rate, "-1"), NOTHING);
    CHECK_EQ(value(&rate, ".5"), NOTHING);
    CHECK_EQ(value(&rate, "1e3"), NOTHING);
    CHECK_EQ(value(&rate, "99999999999999999999"), NOTHING);
    CHECK_STR(printed_type(&rate), "a rate from 0 to 1000");
}

TEST(numbers_of_mib_become_bytes)
{
    static const struct xp_value_type mib = {.kind = XP_VALUE_MIB, .least = 0, .most = 1u << 26};

    CHECK_EQ(value(&mib, "101"), 101 << 20);
    CHECK_EQ(value(&mib, "67108864"), 1ll << 46);
    CHECK_EQ(value(&mib, "67108865"), NOTHING);
    CHECK_EQ(value(&mib, "101M"), NOTHING);
}

TEST(a_threshold_below_nothing_is_none)
{
    static const struct xp_value_type above = {.kind = XP_VALUE_ABOVE};

    CHECK_EQ(value(&above, "1073741824"), 1 << 30);
    CHECK_EQ(value(&above, "0"), 0);
    CHECK_EQ(value(&above, "-1"), 0);
    CHECK_EQ(value(&above, "-9223372036854775807"), 0);
    CHECK_EQ(value(&above, "9223372036854775808"), NOTHING);
    CHECK_EQ(value(&above, "--1"), NOTHING);
    CHECK_EQ(value(&above, "-"), NOTHING);
}

TEST(choices_are_whole_words)
{
    static const struct xp_value_type thp = {.kind = XP_VALUE_CHOICE,
                                             .words = "system|always|never"};

    CHECK_EQ(value(&thp, "system"), 0);
    CHECK_EQ(value(&thp, "always"), 1);
    CHECK_EQ(value(&thp, "never"), 2);
    CHECK_EQ(value(&thp, "nev"), NOTHING);
    CHECK_EQ(value(&thp, "never "), NOTHING);
    CHECK_EQ(value(&thp, "system|always"), NOTHING);
    CHECK_STR(printed(&thp, 1), "always");
    CHECK_STR(printed(&thp, 2), "never");
    CHECK_STR(printed_type(&thp), "system or always or never");
}

TEST(counters_go_to_a_file_that_is_named)
{
    static const struct xp_value_type stats = {.kind = XP_VALUE_STATS};

    CHECK_EQ(value(&stats, "0"), XP_STATS_NONE);
    CHECK_EQ(value(&stats, "1"), XP_STATS_TEXT);
    CHECK_EQ(value(&stats, "on"), XP_STATS_TEXT);
    CHECK_EQ(value(&stats, "json:/tmp/a:b"), XP_STATS_JSON);
    CHECK_STR(xp_value_stats_file("json:/tmp/a:b"), "/tmp/a:b");
    CHECK_EQ(value(&stats, "json:"), NOTHING);
    CHECK_EQ(value(&stats, "json"), NOTHING);
    CHECK_EQ(value(&stats, "2"), NOTHING);
    CHECK_STR(printed_type(&stats), "0, 1 or json:FILE");
}

TEST(flags_have_words_too)
{
    static const struct xp_value_type flag = {.kind = XP_VALUE_FLAG};
    static const char *const on[] = {"1", "true", "yes", "on", "t", "y"};
    static const char *const off[] = {"0", "false", "no", "off", "f", "n"};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(on); i++) {
        CHECK_EQ(value(&flag, on[i]), 1);
        CHECK_EQ(value(&flag, off[i]), 0);
    }
    CHECK_EQ(value(&flag, "2"), NOTHING);
    CHECK_EQ(value(&flag, "TRUE"), NOTHING);
}
