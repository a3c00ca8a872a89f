/* SPDX-License-Identifier: MIT */
/* merge.h - several profiles as one: the last dump of each process, summed over processes.
 *
 * Layer report; uses model, samples. */
#ifndef HR_REPORT_MERGE_H
#define HR_REPORT_MERGE_H

#include "report/error.h"
#include "report/model.h"

/* True when both are dumps of one process: by their run ids; without such, by names that differ in
 * the number only ("app.0001.heap", "app.0002.heap"). */
bool hr_same_process(const struct hr_model *a, const char *a_name, const struct hr_model *b,
                     const char *b_name);
/* True when a, of the same process as b, was taken after it. */
bool hr_is_later(const struct hr_model *a, const char *a_name, const struct hr_model *b,
                 const char *b_name);

/* Adds the samples of from to those of to; modules that both have are one, wherever they were
 * loaded. name is from's, for errors. 0, or -errno with *err: -EINVAL when the two do not measure
 * the same. After a failure to must not be used. */
int hr_merge(struct hr_model *to, const struct hr_model *from, const char *name,
             struct hr_error *err);

#endif
