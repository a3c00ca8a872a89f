/* SPDX-License-Identifier: MIT */
/* filter.h - -focus and -ignore: which stacks a report shows.
 *
 * Layer report; uses model. Perl-compatible expressions with limits: none runs away. */
#ifndef HR_REPORT_FILTER_H
#define HR_REPORT_FILTER_H

#include "report/error.h"
#include "report/model.h"

struct hr_filter {
    const char *focus, *ignore; /* NULL: all pass */
};

/* Takes samples out of model: those without a frame that focus matches, and those with a frame that
 * ignore matches. A frame matches by its function, file or object name; it is ignored rather than
 * in focus when both match. *ret_focused and *ret_ignored say whether each matched anything.
 * 0, or -errno with *err: -EINVAL for a bad expression, -ELOOP for one that needs too long. */
int hr_filter_apply(struct hr_model *model, const struct hr_filter *filter, bool *ret_focused,
                    bool *ret_ignored, struct hr_error *err);

#endif
