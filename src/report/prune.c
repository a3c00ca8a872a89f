/* SPDX-License-Identifier: MIT */
/* prune.c - which functions are the allocator's, and stacks without them. */
#include "report/prune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Sorted by strcmp. Names as pprof drops them, and what libxprof exports. A plain "allocate" is
 * not here although pprof has it: that is how people call functions of their own. */
static const char *const allocators[] = {
    "BaseArena",
    "DoSampledAllocation",
    "MallocedMemBlock::MallocedMemBlock",
    "_Znam",
    "_ZnamRKSt9nothrow_t",
    "_ZnamSt11align_val_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t",
    "_Znwm",
    "_ZnwmRKSt9nothrow_t",
    "_ZnwmSt11align_val_t",
    "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "__builtin_delete",
    "__builtin_new",
    "__builtin_vec_delete",
    "__builtin_vec_new",
    "__gnu_cxx::new_allocator::allocate",
    "__libc_calloc",
    "__libc_malloc",
    "__libc_memalign",
    "__libc_pvalloc",
    "__libc_realloc",
    "__libc_valloc",
    "__malloc_alloc_template::allocate",
    "__posix_memalign",
    "aligned_alloc",
    "calloc",
    "cfree",
    "cpp_alloc",
    "do_malloc",
    "do_malloc_no_errno",
    "do_malloc_pages",
    "do_memalign",
    "free",
    "malloc",
    "memalign",
    "operator new",
    "operator new[]",
    "posix_memalign",
    "pvalloc",
    "realloc",
    "reallocarray",
    "simple_alloc::allocate",
    "tc_calloc",
    "tc_cfree",
    "tc_delete",
    "tc_deletearray",
    "tc_free",
    "tc_malloc",
    "tc_memalign",
    "tc_new",
    "tc_new_nothrow",
    "tc_newarray",
    "tc_newarray_nothrow",
    "tc_posix_memalign",
    "tc_pvalloc",
    "tc_realloc",
    "tc_valloc",
    "valloc",
};

static int compare_names(const void *key, const void *entry)
{
    return strcmp(key, *(const char *const *)entry);
}

/* The name without its parameter list; "(anonymous namespace)" and "operator()" are no lists. */
static size_t plain_length(const char *name)
{
    for (const char *at = name; (at = strchr(at, '(')) != NULL;) {
        if (strncmp(at, "(anonymous namespace)", 21) == 0)
            at += 21;
        else if (at >= name + 8 && strncmp(at - 8, "operator()", 10) == 0)
            at += 2;
        else
            return (size_t)(at - name);
    }
    return strlen(name);
}

bool hr_is_allocator(const char *function)
{
    static const char tcmalloc[] = "tcmalloc::";
    char name[64];
    size_t length;

    if (strncmp(function, tcmalloc, sizeof(tcmalloc) - 1) == 0)
        return true;
    if (strncmp(function, "::", 2) == 0)
        function += 2;
    length = plain_length(function);
    if (length >= sizeof(name))
        return false;
    memcpy(name, function, length);
    name[length] = 0;
    return bsearch(name, allocators, XP_ARRAY_LENGTH(allocators), sizeof(*allocators),
                   compare_names) != NULL;
}

/* Dumps outlive the library that wrote them: after an upgrade, or on another machine, its entry
 * points have no names, but nothing of it is ever the user's. */
static bool is_in_libxprof(const struct hr_model *model, const struct hr_location *location)
{
    static const char name[] = "/libxprof.so";

    if (location->mapping == HR_NONE)
        return false;
    const char *path = hr_string_text(model, model->mappings[location->mapping].path);
    size_t length = strlen(path);
    return length >= sizeof(name) - 1 && strcmp(path + length - (sizeof(name) - 1), name) == 0;
}

enum fate { KEEP, CUT_BELOW, CUT };

/* The outermost allocator frame of a location and those inlined into it go. */
static enum fate prune_location(struct hr_model *model, struct hr_location *location)
{
    if (is_in_libxprof(model, location))
        return CUT;
    for (uint32_t i = location->frame_count; i-- > 0;) {
        const struct hr_frame *frame = &model->frames[location->frame_first + i];

        if (!hr_is_allocator(hr_string_text(model, frame->function)) &&
            !hr_is_allocator(hr_string_text(model, frame->system_name)))
            continue;
        if (i == location->frame_count - 1)
            return CUT;
        location->frame_first += i + 1;
        location->frame_count -= i + 1;
        return CUT_BELOW;
    }
    return KEEP;
}

/* Frames off the leaf end: how many. */
static uint32_t count_dropped(const struct hr_model *model, const struct hr_sample *sample,
                              const uint8_t *fates)
{
    bool user = false;

    for (uint32_t i = sample->depth; i-- > 0;) {
        uint8_t fate = fates[model->stack[sample->stack_first + i]];

        if (fate == KEEP)
            user = true;
        else if (user)
            return fate == CUT ? i + 1 : i;
    }
    return 0;
}

int hr_prune(struct hr_model *model)
{
    uint8_t *fates = malloc((size_t)model->location_count + 1);

    if (!fates)
        return -ENOMEM;
    for (uint32_t i = 0; i < model->location_count; i++)
        fates[i] = (uint8_t)prune_location(model, &model->locations[i]);
    for (uint32_t i = 0; i < model->sample_count; i++) {
        struct hr_sample *sample = &model->samples[i];
        uint32_t dropped = count_dropped(model, sample, fates);

        sample->stack_first += dropped;
        sample->depth -= dropped;
    }
    free(fates);
    return 0;
}
