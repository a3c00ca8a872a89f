/* SPDX-License-Identifier: MIT */
#include "report/merge.h"

#include <errno.h>

#include "report/render.h"
#include "report_fixture.h"

static struct hr_error err;

static struct hr_model *dump(const char *about, const char *rows, const char *maps)
{
    char text[2048];

    snprintf(text, sizeof(text),
             "heap profile: 1: 1 [01: 1] @ heapprofile\n%s%s\nMAPPED_LIBRARIES:\n%s%s", about, rows,
             maps, *about ? "# end\n" : "");
    return fixture_model(text);
}

#define OURS(run, sequence) "# libxprof 0.1.0\n# run " run "\n# sequence " sequence "\n"

TEST(dumps_with_one_run_id_are_of_one_process)
{
    struct hr_model *a = dump(OURS("00ff", "1"), "", ""), *b = dump(OURS("00ff", "2"), "", "");
    struct hr_model *c = dump(OURS("11ff", "3"), "", ""), *d = dump("", "", "");

    CHECK(hr_same_process(a, "x", b, "y"));
    CHECK(!hr_same_process(a, "hp.0001.heap", c, "hp.0002.heap"));
    CHECK(!hr_same_process(a, "hp.0001.heap", d, "hp.0002.heap"));
    CHECK(hr_is_later(b, "hp.0001.heap", a, "hp.0002.heap"));
    CHECK(!hr_is_later(a, "hp.0002.heap", b, "hp.0001.heap"));
    hr_model_destroy(a);
    hr_model_destroy(b);
    hr_model_destroy(c);
    hr_model_destroy(d);
}

TEST(without_run_ids_the_names_tell)
{
    struct hr_model *a = dump("", "", ""), *b = dump("", "", "");

    CHECK(hr_same_process(a, "t/hp.0001.heap", b, "t/hp.0012.heap"));
    CHECK(hr_is_later(b, "t/hp.0012.heap", a, "t/hp.0001.heap"));
    CHECK(!hr_is_later(a, "t/hp.0001.heap", b, "t/hp.0012.heap"));
    CHECK(!hr_same_process(a, "t/hp.0001.heap", b, "u/hp.0002.heap"));
    CHECK(!hr_same_process(a, "t/hp.0001.heap", b, "t/hp_77.0002.heap"));
    CHECK(!hr_same_process(a, "t/hp.0001.heap", b, "t/hp.0001.heap"));
    CHECK(!hr_same_process(a, "a.heap", b, "b.heap"));
    CHECK(!hr_same_process(a, "0001.heap", b, "0002.heap"));
    hr_model_destroy(a);
    hr_model_destroy(b);
}

TEST(one_module_at_two_places_is_one)
{
    struct hr_model *to = dump("", "2: 202 [2: 202] @ 0x5010 0x1020\n",
                               "1000-2000 r-xp 00000000 08:01 7 /opt/app\n"
                               "5000-6000 r-xp 00001000 08:01 7 /lib/libx.so\n");
    struct hr_model *from = dump("", "1: 101 [3: 303] @ 0x8010 0x1020\n",
                                 "1000-2000 r-xp 00000000 08:01 7 /opt/app\n"
                                 "8000-9000 r-xp 00001000 08:01 7 /lib/libx.so\n");

    err = (struct hr_error){0};
    CHECK_EQ(hr_merge(to, from, "b.heap", &err), 0);
    CHECK_EQ(to->sample_count, 1);
    CHECK_EQ(to->mapping_count, 2);
    CHECK_EQ(to->samples[0].values[HR_INUSE_SPACE], 303);
    CHECK_EQ(to->samples[0].values[HR_ALLOC_OBJECTS], 5);
    hr_model_destroy(to);
    hr_model_destroy(from);
}

TEST(another_module_at_the_same_place_is_another)
{
    struct hr_model *to =
        dump("", "2: 202 [2: 202] @ 0x5010\n", "5000-6000 r-xp 00001000 08:01 7 /lib/libx.so\n");
    struct hr_model *from = dump("", "2: 202 [2: 202] @ 0x5010\n1: 7 [1: 7] @ 0x5123\n",
                                 "5000-6000 r-xp 00001000 08:01 7 /lib/liby.so\n");

    err = (struct hr_error){0};
    CHECK_EQ(hr_merge(to, from, "b.heap", &err), 0);
    CHECK_EQ(to->sample_count, 3);
    CHECK_EQ(to->mapping_count, 2);

    const struct hr_location *location = &to->locations[to->stack[to->samples[2].stack_first]];

    CHECK_EQ(location->mapping, 1);
    CHECK_EQ(location->address - to->mappings[1].start, 0x122);
    CHECK_STR(hr_string_text(to, to->mappings[1].path), "/lib/liby.so");
    hr_model_destroy(to);
    hr_model_destroy(from);
}

TEST(unmapped_pcs_of_two_processes_stay_apart)
{
    struct hr_model *to = dump("", "2: 202 [2: 202] @ 0x5010\n", "5000-6000 r-xp 0 08:01 7 /a\n");
    struct hr_model *from = dump("", "2: 202 [2: 202] @ 0x5010\n", "");

    err = (struct hr_error){0};
    CHECK_EQ(hr_merge(to, from, "b.heap", &err), 0);
    CHECK_EQ(to->sample_count, 2);
    CHECK_EQ(to->locations[to->stack[to->samples[1].stack_first]].mapping, HR_NONE);
    hr_model_destroy(to);
    hr_model_destroy(from);
}

TEST(what_does_not_measure_the_same_is_not_added)
{
    struct hr_model *to = dump("", "", "");
    struct hr_model *from = fixture_model("heap profile: 1: 1 [ 1: 1] @ growth\n");

    err = (struct hr_error){0};
    CHECK_EQ(hr_merge(to, from, "b.heap", &err), -EINVAL);
    CHECK_STR(err.place, "b.heap");
    CHECK_STR(err.text, "is a growth profile and cannot be added to a heapprofile profile; report "
                        "them one by one");
    hr_model_destroy(to);
    hr_model_destroy(from);
}

TEST(a_sum_that_does_not_fit_is_an_error)
{
    struct hr_model *to = dump("", "1: 9223372036854775000 [1: 1] @ 0x1\n", "");
    struct hr_model *from = dump("", "1: 2323 [1: 1] @ 0x1\n", "");

    err = (struct hr_error){0};
    CHECK_EQ(hr_merge(to, from, "b.heap", &err), -EOVERFLOW);
    hr_model_destroy(to);
    hr_model_destroy(from);
}

TEST(many_samples_are_added_to_many)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    fprintf(out, "heap profile: 1: 1 [01: 1] @ heapprofile\n");
    for (int i = 0; i < 2003; i++)
        fprintf(out, "1: 101 [1: 101] @ 0x%x 0x77\n", 0x1000 + i);
    fclose(out);

    struct hr_model *to = fixture_model(text), *from = fixture_model(text);

    err = (struct hr_error){0};
    CHECK_EQ(hr_merge(to, from, "b.heap", &err), 0);
    CHECK_EQ(to->sample_count, 2 * 2003); /* no mapping says that the pcs are the same code */
    CHECK_EQ(hr_render_total(to, HR_INUSE_SPACE), 2 * 2003 * 101);
    free(text);
    hr_model_destroy(to);
    hr_model_destroy(from);
}
