/* SPDX-License-Identifier: MIT */
/* render_top.c - the table of the heaviest functions, in the layout of pprof -top. */
#include <string.h>

#include "report/graph.h"
#include "report/render.h"

/* Calls below this share of the total do not make a function "(inline)". */
#define EDGE_FRACTION 0.001

/* The unit in which the smallest number still shows, unless that is far below the largest. */
static enum hr_unit pick_unit(const struct hr_graph *graph, int64_t total)
{
    int64_t least = 0;

    for (uint32_t i = 0; i < graph->count; i++) {
        int64_t value = graph->rows[i].flat ? graph->rows[i].flat : graph->rows[i].cum;

        value = value < 0 ? -value : value;
        if (value && (!least || value < least))
            least = value;
    }
    if (!least)
        least = total;
    if (hr_unit_of(least) == hr_unit_of(total) || least >= total / 100 + (total % 100 != 0))
        return hr_unit_of(least);
    return hr_unit_of(least * 100);
}

/* Long expressions are cut, as pprof does. */
static void write_filter(const char *name, const char *expression, FILE *out)
{
    const size_t most = 80 - strlen(name) - 1;

    if (!expression || !*expression)
        return;
    fprintf(out, "   %s=%.*s%s\n", name, (int)most, expression,
            strlen(expression) > most ? "\u2026" : "");
}

static void write_heading(const struct hr_view *view, const struct hr_graph *graph,
                          enum hr_unit unit, FILE *out)
{
    const struct hr_options *options = view->options;
    enum hr_dimension dimension = hr_value_dimension(options->value);
    char shown[HR_NUMBER_SIZE], percent[HR_NUMBER_SIZE], total[HR_NUMBER_SIZE];
    const char *trimmed;
    int64_t sum = 0;

    hr_render_labels(view, out);
    if ((options->focus && *options->focus) || (options->ignore && *options->ignore)) {
        fputs("Active filters:\n", out);
        write_filter("focus", options->focus, out);
        write_filter("ignore", options->ignore, out);
    }
    for (uint32_t i = 0; i < graph->count; i++)
        sum += graph->rows[i].flat;
    trimmed = hr_format_percent(percent, sum, view->total);
    while (*trimmed == ' ')
        trimmed++;
    fprintf(out, "Showing nodes accounting for %s, %s of %s total\n",
            hr_format_value(shown, sum, dimension, unit), trimmed,
            hr_format_value(total, view->total, dimension, unit));
    if (view->total == 0)
        return;
    if (graph->dropped)
        fprintf(out, "Dropped %u node%s (cum <= %s)\n", graph->dropped,
                graph->dropped > 1 ? "s" : "",
                hr_format_value(shown, hr_graph_cutoff(view->total, options->node_fraction),
                                dimension, unit));
    if (graph->count && graph->count < graph->full_count)
        fprintf(out, "Showing top %u nodes out of %u\n", graph->count, graph->full_count);
}

static void write_rows(const struct hr_view *view, const struct hr_nodes *nodes,
                       const struct hr_graph *graph, enum hr_unit unit, FILE *out)
{
    static const char *const marks[] = {
        [HR_INLINED_NEVER] = "",
        [HR_INLINED_SOMETIMES] = " (partial-inline)",
        [HR_INLINED_ALWAYS] = " (inline)",
    };
    enum hr_dimension dimension = hr_value_dimension(view->options->value);
    int64_t sum = 0;

    fprintf(out, "%10s %5s%% %5s%% %10s %5s%%\n", "flat", "flat", "sum", "cum", "cum");
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct hr_row *row = &graph->rows[i];
        char flat[HR_NUMBER_SIZE], flat_percent[HR_NUMBER_SIZE], sum_percent[HR_NUMBER_SIZE];
        char cum[HR_NUMBER_SIZE], cum_percent[HR_NUMBER_SIZE];

        sum += row->flat;
        fprintf(out, "%10s %s %s %10s %s  %s%s\n",
                hr_format_value(flat, row->flat, dimension, unit),
                hr_format_percent(flat_percent, row->flat, view->total),
                hr_format_percent(sum_percent, sum, view->total),
                hr_format_value(cum, row->cum, dimension, unit),
                hr_format_percent(cum_percent, row->cum, view->total),
                hr_string_text(view->model, nodes->nodes[row->node].name), marks[row->inlined]);
    }
}

int hr_render_top(const struct hr_view *view, FILE *out)
{
    const struct hr_options *options = view->options;
    struct hr_graph_options limits = {.value = options->value, .cum_sort = options->cum_sort};
    struct hr_nodes nodes;
    struct hr_graph graph;
    int r = hr_nodes_make(view->model, options->granularity, &nodes);

    if (r < 0)
        return r;
    if (options->trim) {
        limits.node_count = options->node_count > 0 ? options->node_count : 0;
        limits.node_fraction = options->node_fraction;
        limits.edge_fraction = EDGE_FRACTION;
    }
    r = hr_graph_make(view->model, &nodes, &limits, &graph);
    if (r == 0) {
        enum hr_unit unit = options->unit;

        if (unit == HR_UNIT_MINIMUM && graph.count)
            unit = pick_unit(&graph, view->total);
        write_heading(view, &graph, unit, out);
        write_rows(view, &nodes, &graph, unit, out);
        hr_graph_free(&graph);
    }
    hr_nodes_free(&nodes);
    return r;
}
