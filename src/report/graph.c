/* SPDX-License-Identifier: MIT */
/* graph.c - walks every stack once per round: adds up nodes and calls, then trims and sorts. */
#include "report/graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* A call from one kept node to another. */
struct edge {
    uint32_t caller, callee;
    uint32_t seen; /* sample + 1 that added to it last: recursion counts once */
    bool inlined;  /* all of its calls are */
    int64_t weight;
};

struct tally {
    int64_t flat, cum;
    uint32_t seen; /* as in edge */
    bool kept;
    bool inlinable; /* inlined at some address: only then its callers are of interest */
};

struct building {
    const struct hr_model *model;
    const struct hr_nodes *nodes;
    const struct hr_graph_options *options;
    struct tally *tallies; /* by node */
    struct edge *edges;
    uint32_t edge_count, edge_capacity;
    uint32_t *slots; /* open addressing: edge + 1 */
    uint32_t slot_count;
};

static uint64_t hash_edge(uint32_t caller, uint32_t callee)
{
    return xp_hash_word((uint64_t)caller << 32 | callee);
}

static void put_edge(struct building *b, uint32_t index)
{
    uint32_t mask = b->slot_count - 1;
    uint32_t i = (uint32_t)hash_edge(b->edges[index].caller, b->edges[index].callee) & mask;

    while (b->slots[i])
        i = (i + 1) & mask;
    b->slots[i] = index + 1;
}

static int grow_edges(struct building *b)
{
    if (b->edge_count < b->edge_capacity)
        return 0;
    if (b->edge_capacity > UINT32_MAX / 4)
        return -ENOMEM;

    uint32_t capacity = b->edge_capacity ? b->edge_capacity * 2 : 256;
    struct edge *edges = reallocarray(b->edges, capacity, sizeof(*edges));

    if (!edges)
        return -ENOMEM;
    b->edges = edges;

    uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(b->slots);
    b->slots = slots;
    b->slot_count = capacity * 2;
    b->edge_capacity = capacity;
    for (uint32_t i = 0; i < b->edge_count; i++)
        put_edge(b, i);
    return 0;
}

static struct edge *find_edge(struct building *b, uint32_t caller, uint32_t callee)
{
    uint32_t mask = b->slot_count - 1;

    if (b->slot_count)
        for (uint32_t i = (uint32_t)hash_edge(caller, callee) & mask; b->slots[i];
             i = (i + 1) & mask) {
            struct edge *edge = &b->edges[b->slots[i] - 1];

            if (edge->caller == caller && edge->callee == callee)
                return edge;
        }
    if (grow_edges(b) < 0)
        return NULL;
    b->edges[b->edge_count] = (struct edge){.caller = caller, .callee = callee, .inlined = true};
    put_edge(b, b->edge_count);
    return &b->edges[b->edge_count++];
}

static int add_call(struct building *b, uint32_t caller, uint32_t callee, uint32_t mark,
                    bool inlined, int64_t value)
{
    struct edge *edge = find_edge(b, caller, callee);

    if (!edge)
        return -ENOMEM;
    if (edge->seen == mark)
        return 0;
    edge->seen = mark;
    edge->weight += value;
    edge->inlined &= inlined;
    return 0;
}

/* From the root to the leaf. A node that was trimmed is stepped over: its caller and its callee
 * become neighbours, and if it was the leaf nobody gets its own number. */
static int add_sample(struct building *b, uint32_t index)
{
    const struct hr_sample *sample = &b->model->samples[index];
    int64_t value = sample->values[b->options->value];
    uint32_t caller = HR_NONE, mark = index + 1;
    bool leaf_kept = false;

    if (value == 0)
        return 0;
    for (uint32_t i = sample->depth; i-- > 0;) {
        struct hr_span span = b->nodes->locations[b->model->stack[sample->stack_first + i]];

        for (uint32_t k = span.count; k-- > 0;) {
            uint32_t node = b->nodes->frame_nodes[span.first + k];
            struct tally *tally = &b->tallies[node];

            leaf_kept = tally->kept;
            if (!tally->kept)
                continue;
            if (tally->seen != mark) {
                tally->seen = mark;
                tally->cum += value;
            }
            if (tally->inlinable && caller != HR_NONE && caller != node) {
                int r = add_call(b, caller, node, mark, k != span.count - 1, value);

                if (r < 0)
                    return r;
            }
            caller = node;
        }
    }
    if (leaf_kept)
        b->tallies[caller].flat += value;
    return 0;
}

/* All numbers anew, over the kept nodes. */
static int add_up(struct building *b)
{
    for (uint32_t i = 0; i < b->nodes->count; i++) {
        struct tally *tally = &b->tallies[i];

        tally->flat = tally->cum = 0;
        tally->seen = 0;
    }
    b->edge_count = 0;
    if (b->slots)
        memset(b->slots, 0, b->slot_count * sizeof(*b->slots));
    for (uint32_t i = 0; i < b->model->sample_count; i++) {
        int r = add_sample(b, i);

        if (r < 0)
            return r;
    }
    return 0;
}

/* Kept nodes with a number; the others are not rows. */
static void collect(const struct building *b, struct hr_graph *graph)
{
    graph->count = 0;
    for (uint32_t i = 0; i < b->nodes->count; i++) {
        const struct tally *tally = &b->tallies[i];

        if (tally->kept && (tally->flat || tally->cum))
            graph->rows[graph->count++] =
                (struct hr_row){.node = i, .flat = tally->flat, .cum = tally->cum};
    }
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

static int compare_texts(const struct building *b, hr_string x, hr_string y)
{
    return strcmp(hr_string_text(b->model, x), hr_string_text(b->model, y));
}

/* Heaviest first; then by name, so that equal numbers have one order; then by what is not printed.
 */
static int compare_rows(const void *x, const void *y, void *arg)
{
    const struct building *b = arg;
    const struct hr_row *l = x, *r = y;
    const struct hr_node *ln = &b->nodes->nodes[l->node], *rn = &b->nodes->nodes[r->node];
    bool cum = b->options->cum_sort;
    int64_t first = magnitude(cum ? r->cum : r->flat) - magnitude(cum ? l->cum : l->flat);

    if (first)
        return first > 0 ? 1 : -1;

    int order = compare_texts(b, ln->name, rn->name);

    if (order)
        return order;

    int64_t second = magnitude(cum ? r->flat : r->cum) - magnitude(cum ? l->flat : l->cum);

    if (second)
        return second > 0 ? 1 : -1;
    order = compare_texts(b, ln->object, rn->object);
    if (order)
        return order;
    return l->node < r->node ? -1 : l->node > r->node;
}

/* Only these rows stay; everything is added up again without the others. */
static int keep_only(struct building *b, struct hr_graph *graph, uint32_t count)
{
    for (uint32_t i = 0; i < b->nodes->count; i++)
        b->tallies[i].kept = false;
    for (uint32_t i = 0; i < count; i++)
        b->tallies[graph->rows[i].node].kept = true;

    int r = add_up(b);

    if (r == 0)
        collect(b, graph);
    return r;
}

int64_t hr_graph_cutoff(int64_t total, double fraction)
{
    double part = fabs((double)total * fraction);

    return part < 0x1p63 ? (int64_t)part : INT64_MAX;
}

static void sort_rows(struct building *b, struct hr_graph *graph)
{
    qsort_r(graph->rows, graph->count, sizeof(*graph->rows), compare_rows, b);
}

/* A node is inlined as far as the calls to it are that weigh enough. */
static int mark_inlined(struct building *b, struct hr_graph *graph, int64_t edge_cutoff)
{
    uint8_t *calls = calloc((size_t)b->nodes->count + 1, 1); /* 1: inlined ones, 2: others */

    if (!calls)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->edge_count; i++) {
        const struct edge *edge = &b->edges[i];

        if (magnitude(edge->weight) >= edge_cutoff)
            calls[edge->callee] |= edge->inlined ? 1 : 2;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        uint8_t of_row = calls[graph->rows[i].node];

        graph->rows[i].inlined = !(of_row & 1)  ? HR_INLINED_NEVER
                                 : (of_row & 2) ? HR_INLINED_SOMETIMES
                                                : HR_INLINED_ALWAYS;
    }
    free(calls);
    return 0;
}

static int build(struct building *b, struct hr_graph *graph)
{
    const struct hr_graph_options *options = b->options;
    int64_t total = 0;
    int r = add_up(b);

    if (r < 0)
        return r;
    collect(b, graph);
    for (uint32_t i = 0; i < graph->count; i++)
        total += graph->rows[i].flat;

    int64_t node_cutoff = hr_graph_cutoff(total, options->node_fraction);

    if (node_cutoff > 0) {
        uint32_t heavy = 0;

        for (uint32_t i = 0; i < graph->count; i++)
            if (magnitude(graph->rows[i].cum) >= node_cutoff)
                graph->rows[heavy++] = graph->rows[i];
        graph->dropped = graph->count - heavy;
        if (graph->dropped)
            r = keep_only(b, graph, heavy);
        if (r < 0)
            return r;
    }
    graph->full_count = graph->count;
    sort_rows(b, graph);
    if (options->node_count > 0 && graph->count > (uint64_t)options->node_count) {
        r = keep_only(b, graph, (uint32_t)options->node_count);
        if (r < 0)
            return r;
        sort_rows(b, graph);
    }
    return mark_inlined(b, graph, hr_graph_cutoff(total, options->edge_fraction));
}

int hr_graph_make(const struct hr_model *model, const struct hr_nodes *nodes,
                  const struct hr_graph_options *options, struct hr_graph *ret_graph)
{
    struct building b = {.model = model, .nodes = nodes, .options = options};
    struct hr_graph graph = {0};
    int r = -ENOMEM;

    b.tallies = calloc((size_t)nodes->count + 1, sizeof(*b.tallies));
    graph.rows = malloc(((size_t)nodes->count + 1) * sizeof(*graph.rows));
    if (!b.tallies || !graph.rows)
        goto out;
    for (uint32_t i = 0; i < nodes->count; i++)
        b.tallies[i].kept = true;
    for (uint32_t i = 0; i < model->location_count; i++)
        for (uint32_t k = 0; k + 1 < nodes->locations[i].count; k++)
            b.tallies[nodes->frame_nodes[nodes->locations[i].first + k]].inlinable = true;
    r = build(&b, &graph);
    if (r < 0)
        goto out;
    *ret_graph = graph;
    graph.rows = NULL;
out:
    free(graph.rows);
    free(b.tallies);
    free(b.edges);
    free(b.slots);
    return r;
}

void hr_graph_free(struct hr_graph *graph)
{
    free(graph->rows);
    *graph = (struct hr_graph){0};
}
