/* SPDX-License-Identifier: MIT */
/* output.h - where the report goes: standard output, or a file that is whole or untouched.
 *
 * Layer report. One owner. */
#ifndef HR_REPORT_OUTPUT_H
#define HR_REPORT_OUTPUT_H

#include <stdio.h>

#include "report/error.h"

struct hr_output {
    FILE *stream;
    char *path;       /* the file to replace; NULL: the stream is written directly */
    char *temporary;  /* beside it, until it is whole */
    const char *name; /* for messages; borrowed */
};

/* Is path, when it is a regular file, one of the count inputs? Then -EEXIST with *err: a report
 * would replace what it was made from. 0 otherwise. */
int hr_output_check(const char *path, const char *const *inputs, size_t count,
                    struct hr_error *err);
/* path NULL: standard output. A regular or new file is written beside and renamed at the end;
 * devices, pipes and the like are written directly. 0, or -errno with *err. */
int hr_output_open(struct hr_output *output, const char *path, struct hr_error *err);
/* Everything is on its way to the disk and in place, or -errno with *err and the old file as it
 * was. */
int hr_output_commit(struct hr_output *output, struct hr_error *err);
/* Instead of commit: the old file stays. Also right after a failed open or commit. */
void hr_output_abandon(struct hr_output *output);

#endif
