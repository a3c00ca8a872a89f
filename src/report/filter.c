/* SPDX-License-Identifier: MIT */
/* filter.c - runs -focus and -ignore once per name and then over the stacks. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "report/filter.h"

#include <errno.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

/* Steps per name: a second of work at most, far beyond what a sensible expression needs. */
#define MATCH_LIMIT 1000000
#define DEPTH_LIMIT 10000

enum answer { UNASKED, NO, YES };

struct pattern {
    const char *option, *text;
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint8_t *answers; /* enum answer by string: a name is asked once */
    uint32_t answer_count;
    bool matched;
};

static void pattern_fini(struct pattern *pattern)
{
    free(pattern->answers);
    pcre2_match_data_free(pattern->data);
    pcre2_match_context_free(pattern->context);
    pcre2_code_free(pattern->code);
}

static int pattern_init(struct pattern *pattern, const char *option, const char *text,
                        struct hr_error *err)
{
    int number;
    PCRE2_SIZE at;
    PCRE2_UCHAR why[128];

    *pattern = (struct pattern){.option = option, .text = text};
    if (!text || !*text)
        return 0;
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_NO_AUTO_CAPTURE | PCRE2_NEVER_BACKSLASH_C, &number, &at, NULL);
    if (!pattern->code) {
        pcre2_get_error_message(number, why, sizeof(why));
        return hr_error_set(err, -EINVAL, "", 0, "-%s: expression '%.80s' at character %zu: %s",
                            option, text, (size_t)at + 1, (const char *)why);
    }
    pattern->data = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->context = pcre2_match_context_create(NULL);
    if (!pattern->data || !pattern->context)
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    pcre2_set_match_limit(pattern->context, MATCH_LIMIT);
    pcre2_set_depth_limit(pattern->context, DEPTH_LIMIT);
    /* faster, and no harm where the machine does not allow it */
    pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    return 0;
}

static int ask(struct pattern *pattern, const struct hr_model *model, hr_string string,
               bool *ret_match, struct hr_error *err)
{
    if (string >= pattern->answer_count) {
        uint32_t count = string + string / 2 + 64;
        uint8_t *answers = realloc(pattern->answers, count);

        if (!answers)
            return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
        memset(answers + pattern->answer_count, UNASKED, count - pattern->answer_count);
        pattern->answers = answers;
        pattern->answer_count = count;
    }
    if (pattern->answers[string] == UNASKED) {
        const char *text = hr_string_text(model, string);
        int n = pcre2_match(pattern->code, (PCRE2_SPTR)text, strlen(text), 0, 0, pattern->data,
                            pattern->context);

        if (n < 0 && n != PCRE2_ERROR_NOMATCH)
            return hr_error_set(err, -ELOOP, "", 0,
                                "-%s: expression '%.80s' takes too long on '%.80s'; simplify it",
                                pattern->option, pattern->text, text);
        pattern->answers[string] = n >= 0 ? YES : NO;
    }
    *ret_match |= pattern->answers[string] == YES;
    return 0;
}

/* Names that are empty are no names. */
static int match_location(struct pattern *pattern, const struct hr_model *model,
                          const struct hr_location *location, bool *ret_match, struct hr_error *err)
{
    int r = 0;

    *ret_match = false;
    for (uint32_t i = 0; r == 0 && i < location->frame_count; i++) {
        const struct hr_frame *frame = &model->frames[location->frame_first + i];

        r = ask(pattern, model, frame->function, ret_match, err);
        if (r == 0)
            r = ask(pattern, model, frame->file, ret_match, err);
    }
    if (r == 0 && location->mapping != HR_NONE)
        r = ask(pattern, model, model->mappings[location->mapping].path, ret_match, err);
    pattern->matched |= *ret_match;
    return r;
}

enum { FOCUSED = 1, IGNORED = 2 };

static int mark_locations(const struct hr_model *model, struct pattern *focus,
                          struct pattern *ignore, uint8_t *marks, struct hr_error *err)
{
    for (uint32_t i = 0; i < model->location_count; i++) {
        const struct hr_location *location = &model->locations[i];
        bool match = false;
        int r = 0;

        if (ignore->code)
            r = match_location(ignore, model, location, &match, err);
        if (r == 0 && match) {
            marks[i] = IGNORED;
            continue;
        }
        if (r == 0 && focus->code)
            r = match_location(focus, model, location, &match, err);
        if (r < 0)
            return r;
        marks[i] = match || !focus->code ? FOCUSED : 0;
    }
    return 0;
}

static void filter_samples(struct hr_model *model, const uint8_t *marks)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < model->sample_count; i++) {
        const struct hr_sample *sample = &model->samples[i];
        uint8_t seen = 0;

        for (uint32_t k = 0; k < sample->depth; k++)
            seen |= marks[model->stack[sample->stack_first + k]];
        if (seen == FOCUSED)
            model->samples[kept++] = *sample;
    }
    model->sample_count = kept;
}

int hr_filter_apply(struct hr_model *model, const struct hr_filter *filter, bool *ret_focused,
                    bool *ret_ignored, struct hr_error *err)
{
    struct pattern focus, ignore = {0};
    uint8_t *marks = NULL;
    int r = pattern_init(&focus, "focus", filter->focus, err);

    if (r == 0)
        r = pattern_init(&ignore, "ignore", filter->ignore, err);
    if (r < 0 || (!focus.code && !ignore.code))
        goto out;
    marks = calloc((size_t)model->location_count + 1, 1);
    if (!marks) {
        r = hr_error_set(err, -ENOMEM, "", 0, "out of memory");
        goto out;
    }
    r = mark_locations(model, &focus, &ignore, marks, err);
    if (r == 0)
        filter_samples(model, marks);
out:
    if (r == 0) {
        *ret_focused = !focus.code || focus.matched;
        *ret_ignored = !ignore.code || ignore.matched;
    }
    free(marks);
    pattern_fini(&focus);
    pattern_fini(&ignore);
    return r;
}
