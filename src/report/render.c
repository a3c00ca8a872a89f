/* SPDX-License-Identifier: MIT */
/* render.c - picks the renderer, and writes the heading that reports share. */
#include "report/nodes.h"
#include "report/render.h"

#include <string.h>
#include <time.h>

static const struct hr_renderer renderers[HR_REPORTS] = {
    [HR_TOP] = {"top", hr_render_top},
    [HR_TRACES] = {"traces", hr_render_traces},
    [HR_COLLAPSED] = {"collapsed", hr_render_collapsed},
    [HR_RAW] = {"raw", hr_render_raw},
};

int hr_render(const struct hr_view *view, FILE *out)
{
    return renderers[view->options->report].render(view, out);
}

int64_t hr_render_total(const struct hr_model *model, enum hr_value value)
{
    int64_t total = 0;

    for (uint32_t i = 0; i < model->sample_count; i++) {
        int64_t v = model->samples[i].values[value];

        total += v < 0 ? -v : v;
    }
    return total;
}

enum hr_dimension hr_value_dimension(enum hr_value value)
{
    return value == HR_INUSE_SPACE || value == HR_ALLOC_SPACE ? HR_BYTES : HR_COUNT;
}

void hr_render_text(const char *text, FILE *out)
{
    for (; *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, out);
}

uint32_t hr_render_main_mapping(const struct hr_model *model)
{
    for (uint32_t i = 0; model->program && i < model->mapping_count; i++)
        if (model->mappings[i].path == model->program)
            return i;
    return HR_NONE;
}

void hr_render_labels(const struct hr_view *view, FILE *out)
{
    const struct hr_model *model = view->model;
    const char *type = hr_value_name(view->options->value);
    const char *program = hr_string_text(model, model->program);
    uint32_t mapping = hr_render_main_mapping(model);

    if (*program) {
        fputs("File: ", out);
        hr_render_text(hr_base_name(program), out);
        putc('\n', out);
    }
    if (mapping != HR_NONE && model->mappings[mapping].build_id)
        fprintf(out, "Build ID: %s\n", hr_string_text(model, model->mappings[mapping].build_id));
    /* without numbers of their own for what was ever allocated, there is one pair: unqualified */
    if (!model->has_alloc && strncmp(type, "inuse_", 6) == 0)
        type += 6;
    fprintf(out, "Type: %s\n", type);
    if (model->time_ns) {
        time_t seconds = (time_t)(model->time_ns / 1000000000);
        struct tm tm;
        char day[32], zone[32];

        if (!localtime_r(&seconds, &tm))
            return;
        strftime(day, sizeof(day), "%b", &tm);
        strftime(zone, sizeof(zone), "%Z", &tm);
        fprintf(out, "Time: %s %d, %d at %d:%02d%s (%s)\n", day, tm.tm_mday, tm.tm_year + 1900,
                tm.tm_hour % 12 ? tm.tm_hour % 12 : 12, tm.tm_min, tm.tm_hour < 12 ? "am" : "pm",
                zone);
    }
}
