/* SPDX-License-Identifier: MIT */
/* merge.c - tells dumps of one process from those of several, and adds the latter up. */
#include "report/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/samples.h"

/* Where modules are moved that only the added profile has: no program has code there. */
#define FRESH_RANGE   ((uint64_t)1 << 62)
#define FRESH_LIMIT   ((uint64_t)3 << 62)
#define UNMAPPED_BIT  ((uint64_t)1 << 63)
#define MAPPINGS_MOST ((uint32_t)65536) /* the kernel's own limit for a process */

/* The length of "PREFIX" in "PREFIX.NNNN.heap" and the number; false for other names. */
static bool split_name(const char *name, size_t *ret_prefix, unsigned long *ret_number)
{
    static const char suffix[] = ".heap";
    size_t length = strlen(name), digits;

    if (length < sizeof(suffix) || strcmp(name + length - (sizeof(suffix) - 1), suffix) != 0)
        return false;
    length -= sizeof(suffix) - 1;
    for (digits = 0;
         digits < length && name[length - digits - 1] >= '0' && name[length - digits - 1] <= '9';)
        digits++;
    if (digits < 4 || digits > 9 || digits == length || name[length - digits - 1] != '.')
        return false;
    *ret_prefix = length - digits - 1;
    *ret_number = strtoul(name + length - digits, NULL, 10);
    return true;
}

bool hr_same_process(const struct hr_model *a, const char *a_name, const struct hr_model *b,
                     const char *b_name)
{
    const char *a_run = hr_string_text(a, a->run_id), *b_run = hr_string_text(b, b->run_id);
    size_t a_prefix, b_prefix;
    unsigned long a_number, b_number;

    if (*a_run || *b_run)
        return strcmp(a_run, b_run) == 0;
    return split_name(a_name, &a_prefix, &a_number) && split_name(b_name, &b_prefix, &b_number) &&
           a_prefix == b_prefix && strncmp(a_name, b_name, a_prefix) == 0 && a_number != b_number &&
           strcmp(hr_string_text(a, a->kind), hr_string_text(b, b->kind)) == 0;
}

bool hr_is_later(const struct hr_model *a, const char *a_name, const struct hr_model *b,
                 const char *b_name)
{
    size_t prefix;
    unsigned long a_number = 0, b_number = 0;

    if (a->sequence != b->sequence)
        return a->sequence > b->sequence;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns;
    if (split_name(a_name, &prefix, &a_number) && split_name(b_name, &prefix, &b_number))
        return a_number > b_number;
    return false;
}

struct merging {
    struct hr_model *to;
    const struct hr_model *from;
    const char *name;
    struct hr_error *err;
    uint64_t fresh;      /* start of the next module that moves */
    uint32_t *mappings;  /* of from: its index in to; HR_NONE not yet */
    uint32_t *locations; /* of from: its index in to */
};

static int no_memory(struct merging *m)
{
    return hr_error_set(m->err, -ENOMEM, m->name, 0, "out of memory");
}

static hr_string move_string(struct merging *m, hr_string string)
{
    const char *text = hr_string_text(m->from, string);

    return hr_string_intern(m->to, text, strlen(text));
}

static int move_mapping(struct merging *m, uint32_t index)
{
    struct hr_mapping moved = m->from->mappings[index];
    uint64_t size = moved.limit - moved.start;

    moved.path = move_string(m, moved.path);
    moved.build_id = move_string(m, moved.build_id);
    if (moved.path == HR_NONE || moved.build_id == HR_NONE)
        return no_memory(m);
    for (uint32_t i = 0; i < m->to->mapping_count; i++) {
        const struct hr_mapping *old = &m->to->mappings[i];

        if (old->path == moved.path && old->build_id == moved.build_id &&
            old->offset == moved.offset && old->limit - old->start == size) {
            m->mappings[index] = i;
            return 0;
        }
    }
    if (m->to->mapping_count >= MAPPINGS_MOST || size > FRESH_LIMIT - m->fresh)
        return hr_error_set(m->err, -EOVERFLOW, m->name, 0,
                            "has too many or too large mappings to be added to the others; "
                            "report it alone");
    moved.start = m->fresh;
    moved.limit = m->fresh + size;
    m->fresh = (moved.limit + 0x1fffff) & ~(uint64_t)0xfffff;
    m->mappings[index] = hr_model_add_mapping(m->to, &moved);
    return m->mappings[index] == HR_NONE ? no_memory(m) : 0;
}

static int move_location(struct merging *m, uint32_t index)
{
    const struct hr_location *old = &m->from->locations[index];
    uint64_t delta = 0;
    uint32_t mapping = HR_NONE, moved;

    if (old->mapping != HR_NONE) {
        if (m->mappings[old->mapping] == HR_NONE) {
            int r = move_mapping(m, old->mapping);

            if (r < 0)
                return r;
        }
        mapping = m->mappings[old->mapping];
        delta = m->to->mappings[mapping].start - m->from->mappings[old->mapping].start;
    } else {
        delta = old->pc & UNMAPPED_BIT ? 0 : UNMAPPED_BIT;
    }
    moved = hr_model_location(m->to, old->pc + delta, old->address + delta);
    if (moved == HR_NONE)
        return no_memory(m);
    m->to->locations[moved].mapping = mapping;
    m->locations[index] = moved;
    return 0;
}

static int move_samples(struct merging *m)
{
    struct hr_samples samples;
    uint32_t *stack = NULL, capacity = 0;
    int r = hr_samples_init(&samples, m->to);

    for (uint32_t i = 0; r == 0 && i < m->from->sample_count; i++) {
        const struct hr_sample *sample = &m->from->samples[i];

        if (sample->depth > capacity) {
            uint32_t *grown = reallocarray(stack, sample->depth, sizeof(*stack));

            if (!grown) {
                r = -ENOMEM;
                break;
            }
            stack = grown;
            capacity = sample->depth;
        }
        for (uint32_t k = 0; k < sample->depth; k++)
            stack[k] = m->locations[m->from->stack[sample->stack_first + k]];
        r = hr_samples_add(&samples, sample, stack);
    }
    free(stack);
    hr_samples_fini(&samples);
    if (r == -EOVERFLOW)
        return hr_error_set(m->err, r, m->name, 0,
                            "the sum of the profiles is too large for 63 bits: a file is damaged");
    return r < 0 ? no_memory(m) : 0;
}

static int move_all(struct merging *m)
{
    int r = 0;

    m->fresh = FRESH_RANGE;
    for (uint32_t i = 0; i < m->to->mapping_count; i++)
        if (m->to->mappings[i].limit > m->fresh && m->to->mappings[i].limit < FRESH_LIMIT)
            m->fresh = (m->to->mappings[i].limit + 0x1fffff) & ~(uint64_t)0xfffff;
    m->mappings = malloc(((size_t)m->from->mapping_count + 1) * sizeof(*m->mappings));
    m->locations = malloc(((size_t)m->from->location_count + 1) * sizeof(*m->locations));
    if (!m->mappings || !m->locations)
        return no_memory(m);
    for (uint32_t i = 0; i < m->from->mapping_count; i++)
        m->mappings[i] = HR_NONE;
    for (uint32_t i = 0; r == 0 && i < m->from->location_count; i++)
        r = move_location(m, i);
    return r < 0 ? r : move_samples(m);
}

/* Of what the files say of themselves, only what holds for all stays. */
static void join_facts(struct hr_model *to, const struct hr_model *from)
{
    if (from->time_ns && (!to->time_ns || from->time_ns < to->time_ns))
        to->time_ns = from->time_ns;
    if (from->sample_bytes > to->sample_bytes)
        to->sample_bytes = from->sample_bytes;
    to->has_alloc &= from->has_alloc;
    to->run_id = to->reason = 0;
    to->pid = to->sequence = 0;
}

int hr_merge(struct hr_model *to, const struct hr_model *from, const char *name,
             struct hr_error *err)
{
    struct merging merging = {.to = to, .from = from, .name = name, .err = err};
    const char *kind = hr_string_text(from, from->kind), *others = hr_string_text(to, to->kind);
    int r;

    if ((strcmp(kind, "growth") == 0) != (strcmp(others, "growth") == 0))
        return hr_error_set(err, -EINVAL, name, 0,
                            "is a %s profile and cannot be added to a %s profile; report them one "
                            "by one",
                            kind, others);
    r = move_all(&merging);
    if (r == 0)
        join_facts(to, from);
    free(merging.mappings);
    free(merging.locations);
    return r;
}
