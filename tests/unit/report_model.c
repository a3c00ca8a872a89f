/* SPDX-License-Identifier: MIT */
#include "report/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report/error.h"
#include "test.h"

TEST(the_same_text_is_the_same_string)
{
    struct hr_model *model = hr_model_create();
    hr_string a = hr_string_intern(model, "operator new", 12);

    CHECK_EQ(hr_string_intern(model, "", 0), 0);
    CHECK_EQ(hr_string_intern(model, "operator new[]", 12), a);
    CHECK(hr_string_intern(model, "operator new[]", 14) != a);
    CHECK_STR(hr_string_text(model, a), "operator new");
    CHECK_STR(hr_string_text(model, 0), "");
    CHECK_STR(hr_string_text(model, HR_NONE), "");
    hr_model_destroy(model);
}

TEST(texts_stay_where_they_are_while_thousands_follow)
{
    struct hr_model *model = hr_model_create();
    static char large[100003];
    const char *first = hr_string_text(model, hr_string_intern(model, "first", 5));
    char text[32];

    memset(large, 'x', sizeof(large));
    for (int i = 0; i < 20011; i++) {
        int n = snprintf(text, sizeof(text), "name%d", i);

        CHECK_EQ(hr_string_intern(model, text, (size_t)n), i + 2);
    }
    CHECK_EQ(hr_string_intern(model, "name7", 5), 7 + 2);
    hr_string l = hr_string_intern(model, large, sizeof(large));

    CHECK_EQ(strlen(hr_string_text(model, l)), sizeof(large));
    CHECK_STR(first, "first");
    CHECK_STR(hr_string_text(model, 2 + 19999), "name19999");
    hr_model_destroy(model);
}

TEST(a_pc_is_one_location_however_often_it_comes)
{
    struct hr_model *model = hr_model_create();

    for (uint64_t round = 0; round < 2; round++)
        for (uint64_t pc = 0; pc < 7919; pc++)
            CHECK_EQ(hr_model_location(model, pc * 4096, pc * 4096 - 1), pc);
    CHECK_EQ(hr_model_location(model, 4096, 4096), 7919);
    CHECK_EQ(model->location_count, 7920);
    CHECK_EQ(model->locations[23].mapping, HR_NONE);
    hr_model_destroy(model);
}

TEST(samples_keep_their_stacks)
{
    struct hr_model *model = hr_model_create();
    uint32_t stack[3] = {5, 4, 3};

    for (int i = 0; i < 1009; i++) {
        struct hr_sample sample = {.values = {i, 1, 2, 3}, .depth = (uint32_t)(i % 4)};

        CHECK_EQ(hr_model_add_sample(model, &sample, stack), i);
    }
    const struct hr_sample *sample = &model->samples[1007];

    CHECK_EQ(sample->depth, 3);
    CHECK_EQ(model->stack[sample->stack_first + 2], 3);
    CHECK_EQ(sample->values[HR_ALLOC_OBJECTS], 1007);
    CHECK_EQ(model->stack_count, 1008 / 4 * 6);
    hr_model_destroy(model);
}

TEST(a_stack_longer_than_indexes_reach_is_refused)
{
    struct hr_model *model = hr_model_create();
    uint32_t stack[1] = {0};
    struct hr_sample sample = {.depth = HR_NONE};

    CHECK_EQ(hr_model_add_sample(model, &sample, stack), HR_NONE);
    CHECK_EQ(model->sample_count, 0);
    hr_model_destroy(model);
}

TEST(an_address_finds_the_mapping_that_holds_it)
{
    struct hr_model *model = hr_model_create();
    struct hr_mapping high = {.start = 0x7000, .limit = 0x9000};
    struct hr_mapping low = {.start = 0x1000, .limit = 0x2000};

    hr_model_add_mapping(model, &high);
    hr_model_add_mapping(model, &low);
    uint32_t inside = hr_model_location(model, 0x2000, 0x1fff);
    uint32_t behind = hr_model_location(model, 0x2001, 0x2000);
    uint32_t first = hr_model_location(model, 0x7001, 0x7000);
    uint32_t below = hr_model_location(model, 1, 0);

    CHECK_EQ(hr_model_resolve_mappings(model), 0);
    CHECK_EQ(model->locations[inside].mapping, 1);
    CHECK_EQ(model->locations[behind].mapping, HR_NONE);
    CHECK_EQ(model->locations[first].mapping, 0);
    CHECK_EQ(model->locations[below].mapping, HR_NONE);
    hr_model_destroy(model);
}

TEST(the_first_error_wins_and_is_one_line)
{
    struct hr_error err = {0};
    char place[700];

    memset(place, 'd', sizeof(place));
    strcpy(place + 600, "/x.heap");
    CHECK_EQ(hr_error_set(&err, -EPROTO, place, 23, "bad\ncount %d", 101), -EPROTO);
    CHECK_EQ(hr_error_set(&err, -EIO, "other", 1, "later"), -EIO);
    CHECK_EQ(err.code, -EPROTO);
    CHECK_EQ(err.line, 23);
    CHECK_STR(err.text, "bad?count 101");
    CHECK_EQ(strlen(err.place), sizeof(err.place) - 1);
    CHECK_STR(err.place + sizeof(err.place) - 8, "/x.heap");
    CHECK_EQ(hr_error_set(NULL, -EIO, NULL, 0, "nobody asks"), -EIO);
}
