/* SPDX-License-Identifier: MIT */
/* graph.h - own and cumulative numbers per node, trimmed and sorted as pprof does.
 *
 * Layer report; uses nodes. Numbers only. Sums are those of hr_load(): they fit. */
#ifndef HR_REPORT_GRAPH_H
#define HR_REPORT_GRAPH_H

#include "report/nodes.h"

struct hr_graph_options {
    enum hr_value value;
    bool cum_sort;
    int64_t node_count;   /* 0: all */
    double node_fraction; /* of all that is in the graph; 0: keep every node */
    double edge_fraction; /* calls below do not make a node "(inline)"; 0: every call counts */
};

enum hr_inlined { HR_INLINED_NEVER, HR_INLINED_SOMETIMES, HR_INLINED_ALWAYS };

struct hr_row {
    uint32_t node;
    enum hr_inlined inlined; /* into the nodes that call it */
    int64_t flat, cum;       /* recursion counts once in cum */
};

struct hr_graph {
    struct hr_row *rows; /* sorted, heaviest first */
    uint32_t count;      /* of rows */
    uint32_t full_count; /* rows there were before node_count cut them */
    uint32_t dropped;    /* nodes that were below the fraction */
};

/* 0 or -ENOMEM. */
int hr_graph_make(const struct hr_model *model, const struct hr_nodes *nodes,
                  const struct hr_graph_options *options, struct hr_graph *ret_graph);
/* The magnitude below which a node is dropped. */
int64_t hr_graph_cutoff(int64_t total, double fraction);
void hr_graph_free(struct hr_graph *graph);

#endif
