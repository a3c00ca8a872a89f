/* SPDX-License-Identifier: MIT */
#include "report/load.h"

#include <errno.h>
#include <math.h>

#include "report/render.h"
#include "report_fixture.h"

static struct hr_error err;

static int load_bytes(const char *bytes, size_t size, struct hr_model **ret_model)
{
    return fixture_load(bytes, size, ret_model, &err);
}

static int load(const char *text, struct hr_model **ret_model)
{
    return load_bytes(text, strlen(text), ret_model);
}

#define MAPS                                                                                       \
    "\nMAPPED_LIBRARIES:\n"                                                                        \
    "00400000-00401000 r--p 00000000 08:01 7 /opt/app\n"                                           \
    "00401000-00402000 r-xp 00001000 08:01 7 /opt/app\n"                                           \
    "7f0000000000-7f0000010000 r-xp 00002000 08:01 9 /lib/libx.so.6 (deleted)\n"

TEST(a_heapprofile_is_what_it_says)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile:     23:     2323 [    30:     3030] @ heapprofile\n"
                  "    20:     2020 [    27:     2727] @ 0x401101 0x7f0000000201\n"
                  "     3:      303 [     3:      303] @ 0x401101 0x401123\n" MAPS,
                  &model),
             0);
    CHECK_EQ(model->sample_count, 2);
    CHECK_EQ(model->mapping_count, 2);
    CHECK_STR(hr_string_text(model, model->program), "/opt/app");
    CHECK_STR(hr_string_text(model, model->kind), "heapprofile");
    CHECK(model->has_alloc);
    CHECK(model->mappings[1].deleted);
    CHECK_STR(hr_string_text(model, model->mappings[1].path), "/lib/libx.so.6");
    CHECK_EQ(hr_render_total(model, HR_INUSE_SPACE), 2323);
    CHECK_EQ(hr_render_total(model, HR_ALLOC_OBJECTS), 30);
    CHECK_EQ(model->samples[0].block_bytes, 101);

    const struct hr_location *leaf = &model->locations[model->stack[0]];

    CHECK_EQ(leaf->pc, 0x401101);
    CHECK_EQ(leaf->address, 0x401100);
    CHECK_EQ(leaf->mapping, 0);
    CHECK_EQ(model->locations[model->stack[1]].mapping, 1);
    hr_model_destroy(model);
}

TEST(rows_of_one_stack_and_size_are_one_sample)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile:     6:     506 [     6:     506] @ heapprofile\n"
                  "     2:      202 [     2:      202] @ 0x401101 0x401201\n"
                  "     0:        0 [     0:        0] @ 0x401101 0x401301\n"
                  "     3:      303 [     3:      303] @ 0x401101 0x401201\n"
                  "     1:        1 [     1:        1] @ 0x401101 0x401201\n",
                  &model),
             0);
    CHECK_EQ(model->sample_count, 2);
    CHECK_EQ(model->samples[0].values[HR_INUSE_SPACE], 505);
    CHECK_EQ(model->samples[1].block_bytes, 1);
    hr_model_destroy(model);
}

TEST(what_the_file_says_of_itself_is_kept)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile:     1:     23 [01:     23] @ heapprofile\n"
                  "# libxprof 0.1.0\n"
                  "# run 7f3a09c2d1e4b586\n"
                  "# pid 2323\n"
                  "# command ./app\\n--weird\n"
                  "# time 1790000000.25\n"
                  "# sequence 7\n"
                  "# reason Exiting\n"
                  "# interval 524288\n"
                  "# unheard of\n"
                  "     1:     23 [     1:     23] @ 0x401101\n"
                  "\nMAPPED_LIBRARIES:\n"
                  "# buildid 401000-402000 00ff23\n"
                  "00401000-00402000 r-xp 00001000 08:01 7 /opt/app\n"
                  "# end\n",
                  &model),
             0);
    CHECK_STR(hr_string_text(model, model->run_id), "7f3a09c2d1e4b586");
    CHECK_STR(hr_string_text(model, model->command), "./app\n--weird");
    CHECK_STR(hr_string_text(model, model->reason), "Exiting");
    CHECK_EQ(model->pid, 2323);
    CHECK_EQ(model->sequence, 7);
    CHECK_EQ(model->time_ns, 1790000000250000000);
    CHECK_EQ(model->sample_bytes, 524288);
    CHECK_EQ(hr_render_total(model, HR_INUSE_SPACE), 23);
    CHECK_STR(hr_string_text(model, model->mappings[0].build_id), "00ff23");
    hr_model_destroy(model);
}

TEST(samples_of_tcmalloc_are_scaled_row_by_row)
{
    struct hr_model *model;
    double w = 1 / (1 - exp(-101.0 / 65536));

    CHECK_EQ(load("heap profile:     23:     2323 [    23:     2323] @ heap_v2/65536\n"
                  "    23:     2323 [    23:     2323] @ 0x401101\n",
                  &model),
             0);
    CHECK_EQ(model->samples[0].values[HR_INUSE_OBJECTS], llround(23 * w));
    CHECK_EQ(model->samples[0].values[HR_INUSE_SPACE], llround(2323 * w));
    CHECK_EQ(model->samples[0].block_bytes, 101);
    CHECK(!model->has_alloc);
    hr_model_destroy(model);
}

TEST(rounding_is_carried_on_so_totals_are_exact)
{
    struct hr_model *model;
    char text[32768];
    size_t n = (size_t)sprintf(text, "heap profile: 1: 1 [1: 1] @ heap_v2/65536\n");
    double w = 1 / (1 - exp(-30011.0 / 65536)); /* 2.7: each row alone would round to 3 */

    for (int i = 0; i < 307; i++)
        n += (size_t)sprintf(text + n, "1: 30011 [0: 0] @ 0x%x\n", 0x401000 + i);
    CHECK_EQ(load(text, &model), 0);
    CHECK_EQ(model->sample_count, 307);
    CHECK_EQ(hr_render_total(model, HR_INUSE_OBJECTS), llround(307 * w));
    CHECK_EQ(hr_render_total(model, HR_INUSE_SPACE), llround(307 * 30011 * w));
    hr_model_destroy(model);
}

TEST(samples_of_old_are_divided_by_their_share_of_the_rate)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile:  3:  2000202 [  3:  2000202] @ heap/131072\n"
                  "     2:      202 [     2:      202] @ 0x401101\n"
                  "     1:  2000000 [     1:  2000000] @ 0x401201\n",
                  &model),
             0);
    CHECK_EQ(model->samples[0].values[HR_INUSE_OBJECTS], 1298); /* 2 / (101 / 65536) */
    CHECK_EQ(model->samples[0].values[HR_INUSE_SPACE], 131072);
    CHECK_EQ(model->samples[1].values[HR_INUSE_OBJECTS], 1);
    hr_model_destroy(model);
}

TEST(an_exact_rate_scales_nothing)
{
    struct hr_model *model;

    CHECK_EQ(
        load("heap profile: 23: 23 [ 23: 23] @ heap_v2/1\n23: 23 [ 23: 23] @ 0x401101\n", &model),
        0);
    CHECK_EQ(hr_render_total(model, HR_INUSE_SPACE), 23);
    hr_model_destroy(model);
}

TEST(rows_without_bytes_are_no_division_by_zero)
{
    struct hr_model *model;

    CHECK_EQ(
        load("heap profile: 23: 0 [ 0: 0] @ heap_v2/65536\n23: 0 [ 0: 0] @ 0x401101\n", &model), 0);
    CHECK_EQ(hr_render_total(model, HR_INUSE_OBJECTS), 23);
    hr_model_destroy(model);
}

TEST(growth_is_not_scaled_and_has_one_pair)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile: 2: 2097152 [ 2: 2097152] @ growth\n"
                  "     2:  2097152 [     2:  2097152] @ 0x401101\n",
                  &model),
             0);
    CHECK_EQ(hr_render_total(model, HR_INUSE_SPACE), 2097152);
    CHECK(!model->has_alloc);
    hr_model_destroy(model);
}

TEST(sums_beyond_63_bits_are_an_error_with_its_line)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile: 1: 1 [ 1: 1] @ heapprofile\n"
                  "1: 9223372036854775807 [0: 0] @ 0x401101\n"
                  "1: 1 [0: 0] @ 0x401102\n",
                  &model),
             -EOVERFLOW);
    CHECK_EQ(err.line, 3);
    CHECK_STR(err.place, "x.heap");
    CHECK_EQ(load("heap profile: 1: 1 [ 1: 1] @ heap_v2/9223372036854775807\n"
                  "4611686018427387904: 4611686018427387904 [0: 0] @ 0x401101\n",
                  &model),
             -EOVERFLOW);
    CHECK_EQ(err.line, 2);
    CHECK_EQ(load("heap profile: 1: 1 [ 1: 1] @ heapprofile\n"
                  "-1: -9223372036854775808 [-1: -9223372036854775807] @ 0x401101\n",
                  &model),
             -EPROTO);
}

TEST(what_is_no_profile_is_told_as_such)
{
    struct hr_model *model;

    CHECK_EQ(load("", &model), -EPROTO);
    CHECK(strstr(err.text, "is empty"));
    CHECK_EQ(load("hello\n", &model), -EPROTO);
    CHECK(strstr(err.text, "not a heap profile"));
    CHECK_EQ(load_bytes("\177ELF\2\1\1", 7, &model), -EPROTO);
    CHECK(strstr(err.text, "is a program"));
    CHECK_EQ(load_bytes("\x1f\x8b\x08", 3, &model), -EPROTO);
    CHECK(strstr(err.text, "is compressed"));
}

TEST(a_file_of_ours_that_was_cut_is_refused)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile:     1:     23 [01:     23] @ heapprofile\n# libxprof 0.1.0\n"
                  "     1:     23 [     1:     23] @ 0x401101\n",
                  &model),
             -EPROTO);
    CHECK(strstr(err.text, "cut"));
    CHECK_EQ(load("heap profile:     1:     23 [01:     23] @ heapprofile\n     1:  ", &model),
             -EPROTO);
    CHECK_EQ(err.line, 2);
}

TEST(pcs_at_the_ends_of_the_address_space_are_pcs)
{
    struct hr_model *model;

    CHECK_EQ(load("heap profile: 1: 1 [ 1: 1] @ heapprofile\n"
                  "1: 23 [1: 23] @ 0x0 0xffffffffffffffff 0x1\n"
                  "1: 23 [1: 23] @\n" MAPS,
                  &model),
             0);
    CHECK_EQ(model->sample_count, 2);
    CHECK_EQ(model->locations[0].address, 0);
    CHECK_EQ(model->locations[1].address, UINT64_MAX - 1);
    CHECK_EQ(model->samples[1].depth, 0);
    hr_model_destroy(model);
}
