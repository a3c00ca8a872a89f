/* SPDX-License-Identifier: MIT */
#include "report/filter.h"

#include <errno.h>

#include "report/render.h"
#include "report_fixture.h"

static struct hr_error err;
static bool focused, ignored;

static struct hr_model *make_model(void)
{
    struct hr_model *model =
        fixture_model("heap profile: 3: 223 [ 3: 223] @ heapprofile\n"
                      "1: 101 [1: 101] @ 0x1010 0x1030\n"
                      "1: 103 [1: 103] @ 0x1020 0x1030\n"
                      "1: 19 [1: 19] @ 0x9010 0x1030\n"
                      "\nMAPPED_LIBRARIES:\n00001000-00002000 r-xp 00000000 08:01 7 /opt/app\n"
                      "00009000-0000a000 r-xp 00000000 08:01 7 /lib/libx.so\n");

    fixture_name(model, 0x1010, "json::parse", NULL);
    fixture_name(model, 0x1020, "inner", "cache_put", NULL);
    fixture_name(model, 0x1030, "main", NULL);
    return model;
}

static int apply(struct hr_model *model, const char *focus, const char *ignore)
{
    const struct hr_filter filter = {focus, ignore};

    err = (struct hr_error){0};
    return hr_filter_apply(model, &filter, &focused, &ignored, &err);
}

static int64_t left(const char *focus, const char *ignore)
{
    struct hr_model *model = make_model();

    CHECK_EQ(apply(model, focus, ignore), 0);
    int64_t total = hr_render_total(model, HR_INUSE_SPACE);
    hr_model_destroy(model);
    return total;
}

TEST(without_expressions_all_stacks_pass)
{
    CHECK_EQ(left(NULL, NULL), 223);
    CHECK_EQ(left("", ""), 223);
    CHECK(focused && ignored);
}

TEST(focus_matches_functions_files_and_objects)
{
    CHECK_EQ(left("json", NULL), 101);
    CHECK_EQ(left("^inner$", NULL), 103); /* inlined ones, too */
    CHECK_EQ(left("libx", NULL), 19);
    CHECK_EQ(left("app\\.c", NULL), 223);
    CHECK_EQ(left("cache_put|libx", NULL), 122);
    CHECK_EQ(left("nobody", NULL), 0);
    CHECK(!focused && ignored);
}

TEST(ignore_leaves_stacks_out_even_in_focus)
{
    CHECK_EQ(left(NULL, "json"), 122);
    CHECK_EQ(left("main", "cache_put"), 120);
    CHECK_EQ(left("main", "main"), 0);
    CHECK_EQ(left(NULL, "nobody"), 223);
    CHECK(focused && !ignored);
}

TEST(a_bad_expression_is_told_with_its_place)
{
    struct hr_model *model = make_model();

    CHECK_EQ(apply(model, "a(b", NULL), -EINVAL);
    CHECK_STR(err.text, "-focus: expression 'a(b' at character 4: missing closing parenthesis");
    hr_model_destroy(model);
}

TEST(an_expression_that_runs_away_is_stopped)
{
    struct hr_model *model = make_model();
    char name[64];

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    fixture_name(model, 0x9010, name, NULL);
    CHECK_EQ(apply(model, NULL, "^(a+)+$(?<!a)"), -ELOOP);
    CHECK(strstr(err.text, "-ignore: expression '^(a+)+$(?<!a)' takes too long on 'aaa"));
    hr_model_destroy(model);
}
