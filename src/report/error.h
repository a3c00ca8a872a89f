/* SPDX-License-Identifier: MIT */
/* error.h - what went wrong, where, and what to do: filled by any layer, printed by main alone.
 *
 * Layer report. Not thread safe per object. */
#ifndef HR_REPORT_ERROR_H
#define HR_REPORT_ERROR_H

#include <stdint.h>

#include "base/compiler.h"

struct hr_error {
    int code;        /* -errno */
    char place[512]; /* file name, "" when there is none; cut from the left when too long */
    uint64_t line;   /* in that file; 0 when lines mean nothing there */
    char text[512];  /* what, and what to do; one line */
};

/* Fills *err (which may be NULL) and returns code, so that `return hr_error_set(...)` reads well.
 * The first error wins: a filled one is left alone. */
int hr_error_set(struct hr_error *err, int code, const char *place, uint64_t line,
                 const char *format, ...) XP_PRINTF(5, 6);

#endif
