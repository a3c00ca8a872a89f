/* SPDX-License-Identifier: MIT */
/* cli.h - the command line: one table is the parser, the help text and the man page's measure.
 *
 * Layer report. Prints nothing. */
#ifndef HR_REPORT_CLI_H
#define HR_REPORT_CLI_H

#include <stdio.h>

#include "report/error.h"
#include "report/model.h"
#include "report/symbolize.h"
#include "report/unit.h"

enum hr_report { HR_TOP, HR_TRACES, HR_COLLAPSED, HR_RAW, HR_REPORTS };

enum hr_granularity { HR_FUNCTIONS, HR_LINES, HR_ADDRESSES };

enum hr_symbols { HR_SYMBOLS_NONE, HR_SYMBOLS_LOCAL, HR_SYMBOLS_FAST };

/* Where a string stands in for a list: argv order. Texts are borrowed from argv. */
struct hr_list {
    const char **items;
    size_t count;
};

struct hr_options {
    enum hr_report report;
    enum hr_value value;
    enum hr_granularity granularity;
    bool cum_sort;
    const char *focus, *ignore; /* NULL none */
    int64_t node_count;         /* 0: all; -1: the report's own default */
    double node_fraction;       /* of the total: nodes below are dropped */
    bool trim;                  /* false: no limit on nodes holds */
    enum hr_unit unit;
    enum hr_symbols symbols;
    enum hr_demangle demangle;
    bool ignore_build_id;
    const char *symfs;
    struct hr_list debug_dirs;
    const char *output; /* NULL: standard output */
    struct hr_list arguments;
    bool help, version;
};

/* Fills *ret_options from argv. 0, or -EINVAL with *err. The lists are freed by hr_cli_fini(), also
 * after a failure. */
int hr_cli_parse(int argc, char **argv, struct hr_options *ret_options, struct hr_error *err);
void hr_cli_fini(struct hr_options *options);

/* "inuse_space" and its like. */
const char *hr_value_name(enum hr_value value);

/* The help text: usage and one line per option. */
void hr_cli_help(FILE *out);

#endif
