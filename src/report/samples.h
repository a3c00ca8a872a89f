/* SPDX-License-Identifier: MIT */
/* samples.h - adds rows to a model: one sample per stack and block size, sums that fit.
 *
 * Layer report; uses model. One owner; borrowed model. */
#ifndef HR_REPORT_SAMPLES_H
#define HR_REPORT_SAMPLES_H

#include "report/model.h"

struct hr_samples {
    struct hr_model *model;
    uint32_t *slots; /* open addressing: sample index + 1 by stack and block size */
    uint32_t slot_count;
    int64_t magnitudes[HR_VALUES]; /* sums of |value| */
};

/* The model may have samples already. 0 or -EOVERFLOW. */
int hr_samples_init(struct hr_samples *samples, struct hr_model *model);
void hr_samples_fini(struct hr_samples *samples);

/* Adds values to the sample of this stack and block size, or makes it. Rows of four zeros leave no
 * trace. 0, -ENOMEM, or -EOVERFLOW when a total would leave int64_t. */
int hr_samples_add(struct hr_samples *samples, const struct hr_sample *sample,
                   const uint32_t *locations);

#endif
