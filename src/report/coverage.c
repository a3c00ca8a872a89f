/* SPDX-License-Identifier: MIT */
/* coverage.c - weighs the modules that symbolize has a complaint about. */
#include "report/coverage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One file with one complaint, in however many pieces it was mapped. */
static uint64_t complaint(const struct hr_model *model, uint32_t mapping)
{
    return (uint64_t)model->mappings[mapping].path << 32 | model->mappings[mapping].diagnosis;
}

static int compare_complaints(const void *x, const void *y, void *arg)
{
    const struct hr_model *model = arg;
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    uint64_t p = complaint(model, a), q = complaint(model, b);

    return p < q ? -1 : p > q ? 1 : a < b ? -1 : a > b;
}

static int compare_modules(const void *x, const void *y)
{
    const struct hr_uncovered *a = x, *b = y;

    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return a->mapping < b->mapping ? -1 : a->mapping > b->mapping;
}

/* What the stacks say of a module. */
struct witness {
    uint32_t seen; /* sample + 1 that came through it last; 0 none did */
    bool no_name, no_line;
};

struct weighing {
    const struct hr_model *model;
    uint32_t *order;            /* mappings with a complaint, by complaint */
    uint32_t *modules;          /* by mapping: its module, HR_NONE when all is well with it */
    struct witness *witnesses;  /* by module */
    struct hr_uncovered *found; /* by module */
    uint32_t count;             /* of modules */
};

static void find_modules(struct weighing *w)
{
    const struct hr_model *model = w->model;
    uint32_t complaints = 0;

    for (uint32_t i = 0; i < model->mapping_count; i++) {
        w->modules[i] = HR_NONE;
        if (model->mappings[i].diagnosis)
            w->order[complaints++] = i;
    }
    qsort_r(w->order, complaints, sizeof(*w->order), compare_complaints, (void *)model);
    for (uint32_t i = 0; i < complaints; i++) {
        bool same = i && complaint(model, w->order[i]) == complaint(model, w->order[i - 1]);

        if (!same)
            w->found[w->count++] = (struct hr_uncovered){.mapping = w->order[i]};
        w->modules[w->order[i]] = w->count - 1;
    }
}

static void weigh(struct weighing *w, uint32_t index, enum hr_value value)
{
    const struct hr_model *model = w->model;
    const struct hr_sample *sample = &model->samples[index];
    int64_t v = sample->values[value];

    for (uint32_t k = 0; k < sample->depth; k++) {
        const struct hr_location *location =
            &model->locations[model->stack[sample->stack_first + k]];
        uint32_t module = location->mapping == HR_NONE ? HR_NONE : w->modules[location->mapping];
        const struct hr_frame *frame = NULL;

        if (module == HR_NONE)
            continue;
        if (location->frame_count)
            frame = &model->frames[location->frame_first + location->frame_count - 1];
        w->witnesses[module].no_name |= !frame || !frame->function;
        w->witnesses[module].no_line |= !frame || !frame->line;
        if (w->witnesses[module].seen != index + 1)
            w->found[module].value += v < 0 ? -v : v;
        w->witnesses[module].seen = index + 1;
    }
}

static bool is_worth_a_line(const struct weighing *w, uint32_t module, bool lines_shown)
{
    const struct witness *witness = &w->witnesses[module];

    if (!witness->seen)
        return false;
    /* with all lines known the complaint is about something else */
    return witness->no_name || !witness->no_line || lines_shown ||
           w->model->mappings[w->found[module].mapping].doubtful;
}

int hr_coverage_make(const struct hr_model *model, enum hr_value value, bool lines_shown,
                     int64_t least, struct hr_coverage *ret_coverage)
{
    size_t room = (size_t)model->mapping_count + 1;
    struct weighing w = {.model = model};
    int r = -ENOMEM;

    w.order = malloc(room * sizeof(*w.order));
    w.modules = malloc(room * sizeof(*w.modules));
    w.witnesses = calloc(room, sizeof(*w.witnesses));
    w.found = calloc(room, sizeof(*w.found));
    if (w.order && w.modules && w.witnesses && w.found) {
        uint32_t kept = 0;

        find_modules(&w);
        for (uint32_t i = 0; i < model->sample_count; i++)
            weigh(&w, i, value);
        for (uint32_t i = 0; i < w.count; i++)
            if (w.found[i].value >= least && is_worth_a_line(&w, i, lines_shown))
                w.found[kept++] = w.found[i];
        qsort(w.found, kept, sizeof(*w.found), compare_modules);
        *ret_coverage = (struct hr_coverage){w.found, kept};
        w.found = NULL;
        r = 0;
    }
    free(w.order);
    free(w.modules);
    free(w.witnesses);
    free(w.found);
    return r;
}

void hr_coverage_free(struct hr_coverage *coverage)
{
    free(coverage->modules);
    *coverage = (struct hr_coverage){0};
}
