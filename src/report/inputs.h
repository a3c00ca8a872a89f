/* SPDX-License-Identifier: MIT */
/* inputs.h - the files of the command line: programs set aside, profiles loaded into one model.
 *
 * Layer report; uses source, load, merge. Tells files apart by content, not by position. */
#ifndef HR_REPORT_INPUTS_H
#define HR_REPORT_INPUTS_H

#include "report/cli.h"
#include "report/error.h"
#include "report/model.h"

struct hr_inputs {
    struct hr_model *model;
    struct hr_list binaries; /* names borrowed from the arguments */
    const char *first;       /* name of the profile, the first one of several */
    size_t process_count;    /* whose last dumps were added up */
    size_t superseded_count; /* dumps left out: a later one of the same process was given */
    const char *last;        /* the last of such a series; NULL when there was none */
};

/* Reads all arguments. 0, or -errno with *err. The caller frees with hr_inputs_fini(), also after
 * a failure. */
int hr_inputs_load(const struct hr_list *arguments, struct hr_inputs *ret_inputs,
                   struct hr_error *err);
void hr_inputs_fini(struct hr_inputs *inputs);

#endif
