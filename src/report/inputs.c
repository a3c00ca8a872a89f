/* SPDX-License-Identifier: MIT */
/* inputs.c - sorts the files of the command line by content and makes one model of the profiles. */
#include "report/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/load.h"
#include "report/merge.h"
#include "report/source.h"

struct profile {
    struct hr_model *model;
    const char *name;
};

/* One profile per process: the last one given of each. */
struct collecting {
    struct hr_inputs *inputs;
    struct profile *profiles;
    size_t count;
};

static int no_memory(struct hr_error *err)
{
    return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
}

/* Takes the model over. */
static int keep(struct collecting *collecting, struct hr_model *model, const char *name,
                struct hr_error *err)
{
    struct profile *profiles;

    for (size_t i = 0; i < collecting->count; i++) {
        struct profile *old = &collecting->profiles[i];

        if (!hr_same_process(model, name, old->model, old->name))
            continue;
        collecting->inputs->superseded_count++;
        if (hr_is_later(model, name, old->model, old->name)) {
            hr_model_destroy(old->model);
            *old = (struct profile){model, name};
        } else {
            hr_model_destroy(model);
        }
        collecting->inputs->last = old->name;
        return 0;
    }
    profiles = reallocarray(collecting->profiles, collecting->count + 1, sizeof(*profiles));
    if (!profiles) {
        hr_model_destroy(model);
        return no_memory(err);
    }
    profiles[collecting->count++] = (struct profile){model, name};
    collecting->profiles = profiles;
    return 0;
}

static int take_binary(struct hr_list *binaries, const char *name, struct hr_error *err)
{
    const char **items = reallocarray(binaries->items, binaries->count + 1, sizeof(*items));

    if (!items)
        return no_memory(err);
    items[binaries->count++] = name;
    binaries->items = items;
    return 0;
}

static int take(struct collecting *collecting, const char *argument, struct hr_error *err)
{
    struct hr_source *source = malloc(sizeof(*source));
    struct hr_model *model;
    int r;

    if (!source)
        return no_memory(err);
    r = hr_source_open(source, argument, err);
    if (r < 0)
        goto out;
    if (source->content == HR_CONTENT_ELF) {
        r = take_binary(&collecting->inputs->binaries, source->name, err);
    } else {
        r = hr_load(source, &model, err);
        if (r == 0)
            r = keep(collecting, model, source->name, err);
    }
    hr_source_close(source);
out:
    free(source);
    return r;
}

static int join(struct collecting *collecting, struct hr_error *err)
{
    struct hr_inputs *inputs = collecting->inputs;
    int r = 0;

    if (collecting->count == 0)
        return inputs->binaries.count
                   ? hr_error_set(err, -EINVAL, inputs->binaries.items[0], 0,
                                  "is a program, not a profile; give a .heap file too")
                   : hr_error_set(err, -EINVAL, "", 0,
                                  "no profile given; usage: heapreport [options] [program] "
                                  "profile.heap ...");
    inputs->first = collecting->profiles[0].name;
    inputs->process_count = collecting->count;
    for (size_t i = 1; r == 0 && i < collecting->count; i++) {
        r = hr_merge(collecting->profiles[0].model, collecting->profiles[i].model,
                     collecting->profiles[i].name, err);
        hr_model_destroy(collecting->profiles[i].model);
        collecting->profiles[i].model = NULL;
    }
    if (r == 0) {
        inputs->model = collecting->profiles[0].model;
        collecting->profiles[0].model = NULL;
    }
    return r;
}

int hr_inputs_load(const struct hr_list *arguments, struct hr_inputs *ret_inputs,
                   struct hr_error *err)
{
    struct collecting collecting = {.inputs = ret_inputs};
    int r = 0;

    *ret_inputs = (struct hr_inputs){0};
    for (size_t i = 0; r == 0 && i < arguments->count; i++)
        r = take(&collecting, arguments->items[i], err);
    if (r == 0)
        r = join(&collecting, err);
    for (size_t i = 0; i < collecting.count; i++)
        hr_model_destroy(collecting.profiles[i].model);
    free(collecting.profiles);
    return r;
}

void hr_inputs_fini(struct hr_inputs *inputs)
{
    hr_model_destroy(inputs->model);
    free(inputs->binaries.items);
    *inputs = (struct hr_inputs){0};
}
