/* SPDX-License-Identifier: MIT */
#include "report/coverage.h"

#include "report_fixture.h"

/* app has names and lines, libx names only, liby nothing. */
static struct hr_model *make_model(void)
{
    struct hr_model *model =
        fixture_model("heap profile: 3: 223 [ 3: 223] @ heapprofile\n"
                      "1: 101 [1: 101] @ 0x5010 0x5020 0x1010\n"
                      "1: 103 [1: 103] @ 0x9010 0x1010\n"
                      "1: 19 [1: 19] @ 0x9010 0x5010 0x1010\n"
                      "\nMAPPED_LIBRARIES:\n00001000-00002000 r-xp 00000000 08:01 7 /opt/app\n"
                      "00005000-00006000 r-xp 00000000 08:01 7 /lib/libx.so\n"
                      "00007000-00008000 r-xp 00000000 08:01 7 /lib/unused.so\n"
                      "00009000-0000a000 r-xp 00000000 08:01 7 /lib/liby.so\n");

    fixture_name(model, 0x1010, "main", NULL);
    fixture_name(model, 0x5010, "parse", NULL);
    model->frames[model->frame_count - 1].line = 0;
    fixture_name(model, 0x5020, "load", NULL);
    model->frames[model->frame_count - 1].line = 0;
    model->mappings[1].diagnosis = fixture_string(model, "no debug information");
    model->mappings[2].diagnosis = fixture_string(model, "no such file");
    model->mappings[3].diagnosis = fixture_string(model, "stripped");
    return model;
}

static struct hr_coverage coverage;

static void cover(const struct hr_model *model, bool lines_shown)
{
    hr_coverage_free(&coverage);
    CHECK_EQ(hr_coverage_make(model, HR_INUSE_SPACE, lines_shown, 0, &coverage), 0);
}

TEST(modules_without_names_are_told_by_weight)
{
    struct hr_model *model = make_model();

    cover(model, false);
    CHECK_EQ(coverage.count, 1);
    CHECK_EQ(coverage.modules[0].mapping, 3);
    CHECK_EQ(coverage.modules[0].value, 122);
    hr_model_destroy(model);
}

TEST(missing_lines_are_told_where_lines_are_shown)
{
    struct hr_model *model = make_model();

    cover(model, true);
    CHECK_EQ(coverage.count, 2);
    CHECK_EQ(coverage.modules[1].mapping, 1);
    CHECK_EQ(coverage.modules[1].value, 120); /* once per stack */
    hr_model_destroy(model);
}

TEST(modules_with_less_than_the_least_are_left_out)
{
    struct hr_model *model = make_model();

    hr_coverage_free(&coverage);
    CHECK_EQ(hr_coverage_make(model, HR_INUSE_SPACE, true, 121, &coverage), 0);
    CHECK_EQ(coverage.count, 1);
    CHECK_EQ(coverage.modules[0].value, 122);
    hr_coverage_free(&coverage);
    CHECK_EQ(hr_coverage_make(model, HR_INUSE_SPACE, true, 120, &coverage), 0);
    CHECK_EQ(coverage.count, 2);
    hr_model_destroy(model);
}

TEST(doubtful_names_are_always_told)
{
    struct hr_model *model = make_model();

    model->mappings[1].doubtful = true;
    cover(model, false);
    CHECK_EQ(coverage.count, 2);
    model->mappings[0].diagnosis = fixture_string(model, "changed");
    model->mappings[0].doubtful = true;
    cover(model, false);
    CHECK_EQ(coverage.count, 3);
    CHECK_EQ(coverage.modules[0].mapping, 0);
    CHECK_EQ(coverage.modules[0].value, 223);
    hr_model_destroy(model);
}

TEST(a_module_in_two_pieces_is_one)
{
    struct hr_model *model = make_model();

    model->mappings[1].path = model->mappings[3].path;
    model->mappings[1].diagnosis = model->mappings[3].diagnosis;
    cover(model, false);
    CHECK_EQ(coverage.count, 1);
    CHECK_EQ(coverage.modules[0].value, 223);
    hr_model_destroy(model);
}
