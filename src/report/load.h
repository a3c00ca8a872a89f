/* SPDX-License-Identifier: MIT */
/* load.h - a profile file into a model: numbers scaled, mappings resolved, nothing dropped.
 *
 * Layer report. Reads in pieces: a large file costs what its distinct stacks cost. */
#ifndef HR_REPORT_LOAD_H
#define HR_REPORT_LOAD_H

#include "report/error.h"
#include "report/model.h"
#include "report/source.h"

/* Reads source to its end. Rows of the same stack and block size become one sample. Sums of each
 * number's magnitudes over all samples fit int64_t, so whoever adds them up need not check.
 * 0, or -errno with *err (file and line): -EPROTO for what is no profile or a broken one. */
int hr_load(struct hr_source *source, struct hr_model **ret_model, struct hr_error *err);

#endif
