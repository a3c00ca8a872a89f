/* SPDX-License-Identifier: MIT */
/* samples.c - one sample per stack and block size, with totals that are checked once for all. */
#include "report/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Any sum over any of the samples stays inside int64_t once the sum of magnitudes does. */
static int charge(struct hr_samples *samples, const int64_t *values)
{
    int64_t sums[HR_VALUES];

    for (int i = 0; i < HR_VALUES; i++) {
        int64_t magnitude = values[i];

        if (magnitude < 0 && __builtin_sub_overflow(0, magnitude, &magnitude))
            return -EOVERFLOW;
        if (__builtin_add_overflow(samples->magnitudes[i], magnitude, &sums[i]))
            return -EOVERFLOW;
    }
    memcpy(samples->magnitudes, sums, sizeof(sums));
    return 0;
}

int hr_samples_init(struct hr_samples *samples, struct hr_model *model)
{
    int r = 0;

    *samples = (struct hr_samples){.model = model};
    for (uint32_t i = 0; r == 0 && i < model->sample_count; i++)
        r = charge(samples, model->samples[i].values);
    return r;
}

void hr_samples_fini(struct hr_samples *samples)
{
    free(samples->slots);
    *samples = (struct hr_samples){0};
}

static uint64_t hash_stack(const uint32_t *locations, uint32_t depth, int64_t block_bytes)
{
    uint64_t h = xp_hash_add(depth, (uint64_t)block_bytes);

    for (uint32_t i = 0; i < depth; i++)
        h = xp_hash_add(h, locations[i]);
    return h;
}

static void put(struct hr_samples *samples, uint64_t hash, uint32_t index)
{
    uint32_t mask = samples->slot_count - 1, i = (uint32_t)hash & mask;

    while (samples->slots[i])
        i = (i + 1) & mask;
    samples->slots[i] = index + 1;
}

static int grow(struct hr_samples *samples)
{
    const struct hr_model *model = samples->model;

    if (samples->slot_count && model->sample_count < samples->slot_count / 2)
        return 0;
    if (model->sample_count >= UINT32_MAX / 4)
        return -ENOMEM;

    uint32_t count = samples->slot_count ? samples->slot_count : 64;

    while (count / 2 <= model->sample_count)
        count *= 2;

    uint32_t *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(samples->slots);
    samples->slots = slots;
    samples->slot_count = count;
    for (uint32_t i = 0; i < model->sample_count; i++) {
        const struct hr_sample *s = &model->samples[i];

        put(samples, hash_stack(model->stack + s->stack_first, s->depth, s->block_bytes), i);
    }
    return 0;
}

int hr_samples_add(struct hr_samples *samples, const struct hr_sample *sample,
                   const uint32_t *locations)
{
    struct hr_model *model = samples->model;
    bool zero = true;

    for (int i = 0; i < HR_VALUES; i++)
        zero &= sample->values[i] == 0;
    if (zero)
        return 0;

    int r = charge(samples, sample->values);

    if (r == 0)
        r = grow(samples);
    if (r < 0)
        return r;

    uint64_t hash = hash_stack(locations, sample->depth, sample->block_bytes);
    uint32_t mask = samples->slot_count - 1;

    for (uint32_t i = (uint32_t)hash & mask; samples->slots[i]; i = (i + 1) & mask) {
        struct hr_sample *found = &model->samples[samples->slots[i] - 1];

        if (found->block_bytes != sample->block_bytes || found->depth != sample->depth ||
            memcmp(model->stack + found->stack_first, locations,
                   sample->depth * sizeof(*locations)) != 0)
            continue;
        for (int v = 0; v < HR_VALUES; v++)
            found->values[v] += sample->values[v];
        return 0;
    }

    uint32_t index = hr_model_add_sample(model, sample, locations);

    if (index == HR_NONE)
        return -ENOMEM;
    put(samples, hash, index);
    return 0;
}
