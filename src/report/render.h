/* SPDX-License-Identifier: MIT */
/* render.h - a model as text: one room per report, found through one table.
 *
 * Layer report. Renderers write and compute; they change nothing but the interned strings. Write
 * errors stick in the stream: whoever owns it asks at the end. */
#ifndef HR_REPORT_RENDER_H
#define HR_REPORT_RENDER_H

#include <stdio.h>

#include "report/cli.h"
#include "report/model.h"

struct hr_view {
    struct hr_model *model; /* symbolized, pruned, filtered */
    const struct hr_options *options;
    int64_t total; /* of the chosen number, before any filter: what percentages are of */
};

/* Each returns 0 or -ENOMEM. */
struct hr_renderer {
    const char *name;
    int (*render)(const struct hr_view *view, FILE *out);
};

int hr_render_top(const struct hr_view *view, FILE *out);
int hr_render_traces(const struct hr_view *view, FILE *out);
int hr_render_collapsed(const struct hr_view *view, FILE *out);
int hr_render_raw(const struct hr_view *view, FILE *out);

/* The report that the options name. */
int hr_render(const struct hr_view *view, FILE *out);

/* The sum of the magnitudes of one number over all samples. */
int64_t hr_render_total(const struct hr_model *model, enum hr_value value);
enum hr_dimension hr_value_dimension(enum hr_value value);

/* "File:", "Build ID:", "Type:" and "Time:", as far as they are known. */
void hr_render_labels(const struct hr_view *view, FILE *out);
/* Text out of a file, on one line. */
void hr_render_text(const char *text, FILE *out);
/* The mapping of the main program, or HR_NONE. */
uint32_t hr_render_main_mapping(const struct hr_model *model);

#endif
