/* SPDX-License-Identifier: MIT */
/* coverage.h - the modules whose names are missing, by how much they matter.
 *
 * Layer report; uses model. After symbolize. */
#ifndef HR_REPORT_COVERAGE_H
#define HR_REPORT_COVERAGE_H

#include "report/model.h"

struct hr_uncovered {
    uint32_t mapping; /* has a diagnosis and a location in some stack */
    int64_t value;    /* of the samples whose stacks go through it */
};

struct hr_coverage {
    struct hr_uncovered *modules; /* heaviest first */
    uint32_t count;
};

/* 0 or -ENOMEM. Mappings of one file with one diagnosis are one module. */
int hr_coverage_make(const struct hr_model *model, enum hr_value value,
                     struct hr_coverage *ret_coverage);
void hr_coverage_free(struct hr_coverage *coverage);

#endif
