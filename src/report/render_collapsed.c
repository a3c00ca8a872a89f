/* SPDX-License-Identifier: MIT */
/* render_collapsed.c - "root;caller;leaf NUMBER", one line per stack, for flame graph tools. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "report/nodes.h"
#include "report/render.h"

/* Stacks that read alike are one line: a sum, at the place of the first. */
struct folding {
    const struct hr_view *view;
    const struct hr_nodes *nodes;
    int64_t *sums;       /* by the sample that stands for the line; 0: no line of its own */
    uint32_t *slots;     /* open addressing: that sample + 1 */
    uint32_t slot_count; /* a power of two above twice the samples */
};

/* Walks the nodes of a sample from the root to the leaf. */
struct walk {
    const struct folding *folding;
    const struct hr_sample *sample;
    uint32_t frame, inlined; /* how many of each are left */
};

static struct walk walk_start(const struct folding *folding, uint32_t index)
{
    const struct hr_sample *sample = &folding->view->model->samples[index];

    return (struct walk){folding, sample, sample->depth, 0};
}

/* HR_NONE at the end. */
static uint32_t walk_next(struct walk *walk)
{
    const struct hr_nodes *nodes = walk->folding->nodes;
    const uint32_t *stack = walk->folding->view->model->stack + walk->sample->stack_first;

    while (!walk->inlined) {
        if (!walk->frame)
            return HR_NONE;
        walk->inlined = nodes->locations[stack[--walk->frame]].count;
    }
    return nodes->frame_nodes[nodes->locations[stack[walk->frame]].first + --walk->inlined];
}

static uint64_t hash_stack(const struct folding *folding, uint32_t index)
{
    struct walk walk = walk_start(folding, index);
    uint64_t h = 0;

    for (uint32_t node; (node = walk_next(&walk)) != HR_NONE;)
        h = xp_hash_add(h, node);
    return h;
}

static bool same_stack(const struct folding *folding, uint32_t a, uint32_t b)
{
    struct walk x = walk_start(folding, a), y = walk_start(folding, b);

    for (;;) {
        uint32_t node = walk_next(&x);

        if (node != walk_next(&y))
            return false;
        if (node == HR_NONE)
            return true;
    }
}

static void fold(struct folding *folding, uint32_t index)
{
    const struct hr_sample *sample = &folding->view->model->samples[index];
    int64_t value = sample->values[folding->view->options->value];
    uint32_t mask = folding->slot_count - 1;

    if (value == 0 || sample->depth == 0)
        return;

    uint32_t i = (uint32_t)hash_stack(folding, index) & mask;

    while (folding->slots[i] && !same_stack(folding, folding->slots[i] - 1, index))
        i = (i + 1) & mask;
    if (!folding->slots[i])
        folding->slots[i] = index + 1;
    folding->sums[folding->slots[i] - 1] += value;
}

/* The semicolon separates frames, so inside a name it must not stand. */
static void write_name(const char *name, FILE *out)
{
    for (; *name; name++)
        putc(*name == ';' ? ':' : *name, out);
}

static void write_line(const struct folding *folding, uint32_t index, FILE *out)
{
    const struct hr_model *model = folding->view->model;
    struct walk walk = walk_start(folding, index);
    const char *between = "";

    for (uint32_t node; (node = walk_next(&walk)) != HR_NONE; between = ";") {
        fputs(between, out);
        write_name(hr_string_text(model, folding->nodes->nodes[node].name), out);
    }
    fprintf(out, " %lld\n", (long long)folding->sums[index]);
}

int hr_render_collapsed(const struct hr_view *view, FILE *out)
{
    uint32_t count = view->model->sample_count;
    struct hr_nodes nodes;
    struct folding folding = {.view = view, .nodes = &nodes, .slot_count = 64};
    int r = hr_nodes_make(view->model, view->options->granularity, &nodes);

    if (r < 0)
        return r;
    while (folding.slot_count < UINT32_MAX / 2 && folding.slot_count / 2 < count)
        folding.slot_count *= 2;
    folding.sums = calloc((size_t)count + 1, sizeof(*folding.sums));
    folding.slots = calloc(folding.slot_count, sizeof(*folding.slots));
    if (!folding.sums || !folding.slots || folding.slot_count <= count) {
        r = -ENOMEM;
        goto out;
    }
    for (uint32_t i = 0; i < count; i++)
        fold(&folding, i);
    for (uint32_t i = 0; i < count; i++)
        if (folding.sums[i])
            write_line(&folding, i, out);
out:
    free(folding.sums);
    free(folding.slots);
    hr_nodes_free(&nodes);
    return r;
}
