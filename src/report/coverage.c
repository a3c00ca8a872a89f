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

/* By mapping: the module it belongs to, HR_NONE when all is well with it. Returns how many. */
static uint32_t find_modules(const struct hr_model *model, uint32_t *order, uint32_t *modules,
                             struct hr_uncovered *to)
{
    uint32_t found = 0, count = 0;

    for (uint32_t i = 0; i < model->mapping_count; i++) {
        modules[i] = HR_NONE;
        if (model->mappings[i].diagnosis)
            order[found++] = i;
    }
    qsort_r(order, found, sizeof(*order), compare_complaints, (void *)model);
    for (uint32_t i = 0; i < found; i++) {
        bool same = i && complaint(model, order[i]) == complaint(model, order[i - 1]);

        if (!same)
            to[count++] = (struct hr_uncovered){.mapping = order[i]};
        modules[order[i]] = count - 1;
    }
    return count;
}

static void weigh(const struct hr_model *model, enum hr_value value, const uint32_t *modules,
                  uint32_t *seen, bool *present, struct hr_uncovered *to)
{
    for (uint32_t i = 0; i < model->sample_count; i++) {
        const struct hr_sample *sample = &model->samples[i];
        int64_t v = sample->values[value];

        for (uint32_t k = 0; k < sample->depth; k++) {
            uint32_t mapping = model->locations[model->stack[sample->stack_first + k]].mapping;
            uint32_t module = mapping == HR_NONE ? HR_NONE : modules[mapping];

            if (module == HR_NONE || seen[module] == i + 1)
                continue;
            seen[module] = i + 1;
            present[module] = true;
            to[module].value += v < 0 ? -v : v;
        }
    }
}

int hr_coverage_make(const struct hr_model *model, enum hr_value value,
                     struct hr_coverage *ret_coverage)
{
    size_t room = (size_t)model->mapping_count + 1;
    uint32_t *order = malloc(room * sizeof(*order)), *modules = malloc(room * sizeof(*modules));
    uint32_t *seen = calloc(room, sizeof(*seen));
    bool *present = calloc(room, sizeof(*present));
    struct hr_uncovered *found = calloc(room, sizeof(*found));
    int r = -ENOMEM;

    if (order && modules && seen && present && found) {
        uint32_t count = find_modules(model, order, modules, found), kept = 0;

        weigh(model, value, modules, seen, present, found);
        for (uint32_t i = 0; i < count; i++)
            if (present[i])
                found[kept++] = found[i];
        qsort(found, kept, sizeof(*found), compare_modules);
        *ret_coverage = (struct hr_coverage){found, kept};
        found = NULL;
        r = 0;
    }
    free(order);
    free(modules);
    free(seen);
    free(present);
    free(found);
    return r;
}

void hr_coverage_free(struct hr_coverage *coverage)
{
    free(coverage->modules);
    *coverage = (struct hr_coverage){0};
}
