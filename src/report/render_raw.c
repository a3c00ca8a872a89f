/* SPDX-License-Identifier: MIT */
/* render_raw.c - all that a model holds, as text: the listing of pprof -raw. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/render.h"

/* What the frames of a mapping tell. */
enum { HAS_FUNCTIONS = 1, HAS_FILES = 2, HAS_LINES = 4, HAS_INLINES = 8 };

/* Numbers of the listing: locations by first use in a sample, mappings with the program first. */
struct numbering {
    uint32_t *locations, *location_order; /* number by index (0 unused); index by number - 1 */
    uint32_t *mappings, *mapping_order;
    uint32_t location_count, mapping_count;
    uint8_t *known; /* HAS_* by mapping */
};

static void number(uint32_t *numbers, uint32_t *order, uint32_t *count, uint32_t index)
{
    if (numbers[index])
        return;
    order[(*count)++] = index;
    numbers[index] = *count;
}

static void number_mapping(struct numbering *n, uint32_t mapping)
{
    if (mapping != HR_NONE)
        number(n->mappings, n->mapping_order, &n->mapping_count, mapping);
}

static unsigned knowledge_of(const struct hr_model *model, const struct hr_location *location)
{
    unsigned known = 0;

    for (uint32_t k = 0; k < location->frame_count; k++) {
        const struct hr_frame *frame = &model->frames[location->frame_first + k];

        known |= (frame->function ? HAS_FUNCTIONS : 0) | (frame->file ? HAS_FILES : 0) |
                 (frame->line ? HAS_LINES : 0) | (k ? HAS_INLINES : 0);
    }
    return known;
}

static void number_mapping_of(struct numbering *n, const struct hr_model *model, uint32_t index)
{
    const struct hr_location *location = &model->locations[index];

    if (location->mapping == HR_NONE)
        return;
    number_mapping(n, location->mapping);
    n->known[location->mapping] |= (uint8_t)knowledge_of(model, location);
}

static int numbering_init(struct numbering *n, const struct hr_model *model)
{
    *n = (struct numbering){0};
    n->locations = calloc((size_t)model->location_count + 1, sizeof(uint32_t));
    n->location_order = calloc((size_t)model->location_count + 1, sizeof(uint32_t));
    n->mappings = calloc((size_t)model->mapping_count + 1, sizeof(uint32_t));
    n->mapping_order = calloc((size_t)model->mapping_count + 1, sizeof(uint32_t));
    n->known = calloc((size_t)model->mapping_count + 1, 1);
    if (!n->locations || !n->location_order || !n->mappings || !n->mapping_order || !n->known)
        return -ENOMEM;
    number_mapping(n, hr_render_main_mapping(model));
    for (uint32_t i = 0; i < model->sample_count; i++) {
        const struct hr_sample *sample = &model->samples[i];

        for (uint32_t k = 0; k < sample->depth; k++) {
            uint32_t location = model->stack[sample->stack_first + k];

            if (!n->locations[location])
                number_mapping_of(n, model, location);
            number(n->locations, n->location_order, &n->location_count, location);
        }
    }
    return 0;
}

static void numbering_fini(struct numbering *n)
{
    free(n->locations);
    free(n->location_order);
    free(n->mappings);
    free(n->mapping_order);
    free(n->known);
}

static void write_comment(const struct hr_model *model, const char *key, hr_string value, FILE *out)
{
    if (!value)
        return;
    fprintf(out, "Comment: %s ", key);
    hr_render_text(hr_string_text(model, value), out);
    putc('\n', out);
}

static void write_about(const struct hr_model *model, FILE *out)
{
    write_comment(model, "libxprof", model->writer_version, out);
    write_comment(model, "run", model->run_id, out);
    write_comment(model, "command", model->command, out);
    write_comment(model, "reason", model->reason, out);
    if (model->pid)
        fprintf(out, "Comment: pid %lld\n", (long long)model->pid);
    fprintf(out, "PeriodType: space bytes\nPeriod: %lld\n",
            (long long)(model->sample_bytes ? model->sample_bytes : 1));
    if (model->time_ns) {
        time_t seconds = (time_t)(model->time_ns / 1000000000);
        struct tm tm;
        char text[64], zone[32];

        if (!localtime_r(&seconds, &tm))
            return;
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
        strftime(zone, sizeof(zone), "%z %Z", &tm);
        fprintf(out, "Time: %s %s\n", text, zone);
    }
}

static void write_samples(const struct hr_model *model, const struct numbering *n, FILE *out)
{
    fputs(model->has_alloc ? "Samples:\nalloc_objects/count alloc_space/bytes inuse_objects/count "
                             "inuse_space/bytes\n"
                           : "Samples:\nobjects/count space/bytes\n",
          out);
    for (uint32_t i = 0; i < model->sample_count; i++) {
        const struct hr_sample *sample = &model->samples[i];

        for (int v = model->has_alloc ? 0 : HR_INUSE_OBJECTS; v < HR_VALUES; v++)
            fprintf(out, " %10lld", (long long)sample->values[v]);
        fputs(": ", out);
        for (uint32_t k = 0; k < sample->depth; k++)
            fprintf(out, "%u ", n->locations[model->stack[sample->stack_first + k]]);
        fprintf(out, "\n%16sbytes:[%lld]\n", "", (long long)sample->block_bytes);
    }
}

static void write_locations(const struct hr_model *model, const struct numbering *n, FILE *out)
{
    fputs("Locations\n", out);
    for (uint32_t i = 0; i < n->location_count; i++) {
        const struct hr_location *location = &model->locations[n->location_order[i]];

        fprintf(out, "%6u: 0x%llx ", i + 1, (unsigned long long)location->address);
        if (location->mapping != HR_NONE)
            fprintf(out, "M=%u ", n->mappings[location->mapping]);
        for (uint32_t k = 0; k < location->frame_count; k++) {
            const struct hr_frame *frame = &model->frames[location->frame_first + k];

            if (k)
                fprintf(out, "\n%13s", "");
            hr_render_text(hr_string_text(model, frame->function), out);
            putc(' ', out);
            hr_render_text(hr_string_text(model, frame->file), out);
            fprintf(out, ":%u s=0", frame->line);
            if (frame->system_name != frame->function) {
                putc('(', out);
                hr_render_text(hr_string_text(model, frame->system_name), out);
                putc(')', out);
            }
        }
        putc('\n', out);
    }
}

static void write_mappings(const struct hr_model *model, const struct numbering *n, FILE *out)
{
    fputs("Mappings\n", out);
    for (uint32_t i = 0; i < n->mapping_count; i++) {
        uint32_t index = n->mapping_order[i];
        const struct hr_mapping *mapping = &model->mappings[index];
        unsigned known = n->known[index];

        fprintf(out, "%u: 0x%llx/0x%llx/0x%llx ", i + 1, (unsigned long long)mapping->start,
                (unsigned long long)mapping->limit, (unsigned long long)mapping->offset);
        hr_render_text(hr_string_text(model, mapping->path), out);
        fprintf(out, " %s %s%s%s%s\n", hr_string_text(model, mapping->build_id),
                known & HAS_FUNCTIONS ? "[FN]" : "", known & HAS_FILES ? "[FL]" : "",
                known & HAS_LINES ? "[LN]" : "", known & HAS_INLINES ? "[IN]" : "");
    }
}

int hr_render_raw(const struct hr_view *view, FILE *out)
{
    const struct hr_model *model = view->model;
    struct numbering numbering;
    int r = numbering_init(&numbering, model);

    if (r == 0) {
        write_about(model, out);
        write_samples(model, &numbering, out);
        write_locations(model, &numbering, out);
        write_mappings(model, &numbering, out);
    }
    numbering_fini(&numbering);
    return r;
}
