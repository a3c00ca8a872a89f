/* SPDX-License-Identifier: MIT */
/* coverage.h - the modules whose names are missing, by how much they matter.
 *
 * Layer report; uses model. After symbolize. */
#ifndef HR_REPORT_COVERAGE_H
#define HR_REPORT_COVERAGE_H

#include "report/model.h"

struct hr_uncovered {
    uint32_t mapping; /* one of its mappings: path and diagnosis */
    int64_t value;    /* of the samples whose stacks go through it */
};

struct hr_coverage {
    struct hr_uncovered *modules; /* heaviest first */
    uint32_t count;
};

/* The modules in the stacks of the samples that symbolize has a complaint about, unless it is only
 * that lines are missing where none are shown; those with less than least are left out. 0 or
 * -ENOMEM. */
int hr_coverage_make(const struct hr_model *model, enum hr_value value, bool lines_shown,
                     int64_t least, struct hr_coverage *ret_coverage);
void hr_coverage_free(struct hr_coverage *coverage);

#endif
