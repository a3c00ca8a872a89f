/* SPDX-License-Identifier: MIT */
/* nodes.h - the rows a report can have: functions, lines or addresses, and who is in which stack.
 *
 * Layer report; uses model, cli. Made once per report from a model that no longer changes. */
#ifndef HR_REPORT_NODES_H
#define HR_REPORT_NODES_H

#include "report/cli.h"
#include "report/model.h"

/* Frames that look alike at the chosen granularity are one node. */
struct hr_node {
    uint64_t address;   /* 0 unless rows are addresses */
    hr_string function; /* "" unknown: then object says where it is */
    hr_string file;     /* "" unless rows are lines or addresses */
    hr_string object;   /* "" unless function is unknown */
    hr_string name;     /* as printed: "malloc app.c:23", "[libc.so.6]", "<unknown>" */
    uint32_t line;
};

/* Frames of a location: the ids [first, first + count) of frame_nodes, innermost inline first. A
 * location without names has one. */
struct hr_span {
    uint32_t first, count;
};

struct hr_nodes {
    struct hr_node *nodes;
    uint32_t count;
    uint32_t *frame_nodes;
    struct hr_span *locations; /* by location index */
};

/* 0 or -ENOMEM. The names are interned in model. */
int hr_nodes_make(struct hr_model *model, enum hr_granularity granularity,
                  struct hr_nodes *ret_nodes);
/* What stands behind the last slash. */
const char *hr_base_name(const char *path);
void hr_nodes_free(struct hr_nodes *nodes);

#endif
