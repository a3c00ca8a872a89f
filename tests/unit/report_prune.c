/* SPDX-License-Identifier: MIT */
#include "report/prune.h"

#include "report_fixture.h"

static struct hr_model *model;

static void load(const char *stack)
{
    char text[256];

    snprintf(text, sizeof(text), "heap profile: 1: 23 [ 1: 23] @ heapprofile\n1: 23 [1: 23] @ %s\n",
             stack);
    hr_model_destroy(model);
    model = fixture_model(text);
}

/* The function names of the one sample, leaf first. */
static const char *stack(void)
{
    static char text[256];
    const struct hr_sample *sample = &model->samples[0];

    CHECK_EQ(hr_prune(model), 0);
    text[0] = 0;
    for (uint32_t i = 0; i < sample->depth; i++) {
        const struct hr_location *location =
            &model->locations[model->stack[sample->stack_first + i]];

        for (uint32_t k = 0; k < location->frame_count; k++) {
            strcat(text, hr_string_text(model, model->frames[location->frame_first + k].function));
            strcat(text, " ");
        }
    }
    return text;
}

TEST(the_entry_point_goes)
{
    load("0x11 0x21 0x31");
    fixture_name(model, 0x11, "malloc", NULL);
    fixture_name(model, 0x21, "work", NULL);
    fixture_name(model, 0x31, "main", NULL);
    CHECK_STR(stack(), "work main ");
}

TEST(everything_below_the_outermost_allocator_frame_goes)
{
    load("0x11 0x21 0x31 0x41");
    fixture_name(model, 0x11, "sample_it", NULL);
    fixture_name(model, 0x21, "tcmalloc::allocate_full_malloc_oom", NULL);
    fixture_name(model, 0x31, "operator new(unsigned long)", NULL);
    fixture_name(model, 0x41, "main", NULL);
    CHECK_STR(stack(), "main ");
}

TEST(a_stack_of_allocator_frames_alone_stays)
{
    load("0x11 0x21");
    fixture_name(model, 0x11, "malloc", NULL);
    fixture_name(model, 0x21, "calloc", NULL);
    CHECK_STR(stack(), "malloc calloc ");
}

TEST(a_root_that_looks_like_the_allocator_stays)
{
    load("0x11 0x21 0x31");
    fixture_name(model, 0x11, "malloc", NULL);
    fixture_name(model, 0x21, "work", NULL);
    fixture_name(model, 0x31, "free", NULL);
    CHECK_STR(stack(), "work free ");
}

TEST(inlined_allocator_frames_leave_the_rest_of_their_location)
{
    load("0x11 0x21");
    fixture_name(model, 0x11, "fast_path", "operator new[]", "work", NULL);
    fixture_name(model, 0x21, "main", NULL);
    CHECK_STR(stack(), "work main ");
}

TEST(frames_without_names_are_the_users)
{
    load("0x11 0x21");
    fixture_name(model, 0x11, "malloc", NULL);
    CHECK_STR(stack(), "");
    CHECK_EQ(model->samples[0].depth, 1);
}

TEST(entry_points_of_a_library_that_was_replaced_go)
{
    static const char maps[] = "\nMAPPED_LIBRARIES:\n"
                               "10-20 r-xp 00000000 08:01 131 /usr/lib/libxprof.so\n"
                               "20-40 r-xp 00000000 08:01 137 /opt/app/notlibxprof.so\n";
    char text[512];

    snprintf(text, sizeof(text), "heap profile: 1: 23 [ 1: 23] @ heapprofile\n%s%s",
             "1: 23 [1: 23] @ 0x11 0x21 0x31\n", maps);
    hr_model_destroy(model);
    model = fixture_model(text);
    CHECK_EQ(hr_prune(model), 0);
    CHECK_EQ(model->samples[0].depth, 2);
    CHECK_EQ(model->locations[model->stack[model->samples[0].stack_first]].pc, 0x21);
}

TEST(the_allocator_is_known_by_its_names)
{
    CHECK(hr_is_allocator("malloc"));
    CHECK(hr_is_allocator("operator new"));
    CHECK(hr_is_allocator("operator new[](unsigned long, std::nothrow_t const&)"));
    CHECK(hr_is_allocator("_ZnwmSt11align_val_tRKSt9nothrow_t"));
    CHECK(hr_is_allocator("tcmalloc::anything::at_all"));
    CHECK(hr_is_allocator("::do_malloc(unsigned long)"));
    CHECK(hr_is_allocator("reallocarray"));
    CHECK(hr_is_allocator("__libc_malloc"));
    CHECK(hr_is_allocator("_Znam"));
    CHECK(hr_is_allocator("BaseArena"));
    CHECK(hr_is_allocator("valloc"));
    CHECK(hr_is_allocator("aligned_alloc"));
    CHECK(!hr_is_allocator("my_malloc"));
    CHECK(!hr_is_allocator("malloc_wrapper"));
    CHECK(!hr_is_allocator("allocate"));
    CHECK(!hr_is_allocator("(anonymous namespace)::malloc"));
    CHECK(!hr_is_allocator("Pool::operator()(int)"));
    CHECK(!hr_is_allocator(""));
}
