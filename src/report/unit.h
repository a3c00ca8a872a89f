/* SPDX-License-Identifier: MIT */
/* unit.h - numbers as pprof writes them: scaled bytes, counts, percentages.
 *
 * Layer report. Pure. */
#ifndef HR_REPORT_UNIT_H
#define HR_REPORT_UNIT_H

#include "base/compiler.h"

/* MINIMUM: one unit for the whole table, picked for its smallest number. AUTO: each number its own.
 * The others are powers of 1024. */
enum hr_unit {
    HR_UNIT_MINIMUM,
    HR_UNIT_AUTO,
    HR_UNIT_B,
    HR_UNIT_KB,
    HR_UNIT_MB,
    HR_UNIT_GB,
    HR_UNIT_TB,
    HR_UNIT_PB,
    HR_UNITS,
};

enum hr_dimension { HR_COUNT, HR_BYTES };

/* Room for any number with its unit. */
#define HR_NUMBER_SIZE 48

/* "mb", "MB", "megabytes", "auto", ...; HR_UNITS when there is no such unit. */
enum hr_unit hr_unit_find(const char *name);
/* The largest unit in which the value is at least 1; B below that. */
enum hr_unit hr_unit_of(int64_t bytes);

/* "12.34MB", "101", "0": two decimals unless they are zeros; counts have no unit. MINIMUM stands
 * for AUTO here. Returns buffer, which has HR_NUMBER_SIZE bytes. */
const char *hr_format_value(char *buffer, int64_t value, enum hr_dimension dimension,
                            enum hr_unit unit);
/* "12.35%", " 0.5%", "  100%": six characters or more. */
const char *hr_format_percent(char *buffer, int64_t value, int64_t total);

#endif
