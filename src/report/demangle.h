/* SPDX-License-Identifier: MIT */
/* demangle.h - readable names of C++, Rust and D symbols, as long or as short as asked.
 *
 * Layer report; uses symbolize.h for the modes. short is what pprof shows: no parameters, no
 * template arguments, no return type; templates keeps template arguments; full keeps all; none
 * changes nothing. Suffixes of compiler clones (.cold, .part.0, .constprop.1) go, except in none
 * and full: they are one function to the reader. */
#ifndef HR_REPORT_DEMANGLE_H
#define HR_REPORT_DEMANGLE_H

#include "report/symbolize.h"

/* A symbol to its readable name; one that is not mangled stays. Malloc'd; NULL without memory. */
char *hr_demangle(const char *symbol, enum hr_demangle mode);

/* The same for a name put together from debug information ("ns::vec<int>::push"), which is readable
 * already: only shortens. */
char *hr_demangle_qualified(const char *name, enum hr_demangle mode);

#endif
