/* SPDX-License-Identifier: MIT */
/* render_traces.c - every stack with its number, in the layout of pprof -traces. */
#include "report/nodes.h"
#include "report/render.h"

static const char separator[] =
    "-----------+-------------------------------------------------------\n";

static void write_sample(const struct hr_view *view, const struct hr_nodes *nodes,
                         const struct hr_sample *sample, FILE *out)
{
    const struct hr_model *model = view->model;
    enum hr_value value = view->options->value;
    char number[HR_NUMBER_SIZE];

    fprintf(out, "%s%10s:  %s\n", separator, "bytes",
            hr_format_value(number, sample->block_bytes, HR_BYTES, HR_UNIT_AUTO));
    hr_format_value(number, sample->values[value], hr_value_dimension(value), view->options->unit);
    for (uint32_t i = 0; i < sample->depth; i++) {
        struct hr_span span = nodes->locations[model->stack[sample->stack_first + i]];

        for (uint32_t k = 0; k < span.count; k++) {
            const struct hr_node *node = &nodes->nodes[nodes->frame_nodes[span.first + k]];

            fprintf(out, "%10s   %s%s\n", number, hr_string_text(model, node->name),
                    k + 1 < span.count ? " (inline)" : "");
            number[0] = 0; /* only beside the leaf */
        }
    }
}

int hr_render_traces(const struct hr_view *view, FILE *out)
{
    struct hr_nodes nodes;
    int r = hr_nodes_make(view->model, view->options->granularity, &nodes);

    if (r < 0)
        return r;
    hr_render_labels(view, out);
    for (uint32_t i = 0; i < view->model->sample_count; i++)
        if (view->model->samples[i].depth)
            write_sample(view, &nodes, &view->model->samples[i], out);
    fputs(separator, out);
    hr_nodes_free(&nodes);
    return 0;
}
