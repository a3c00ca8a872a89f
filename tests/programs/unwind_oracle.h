/* SPDX-License-Identifier: MIT */
/* unwind_oracle.h - three unwinders look at one stack and must see the same.
 *
 * Cases are compiled by several compilers with several options and linked with the oracle, which
 * runs them and prints TAP. */
#ifndef XP_TESTS_UNWIND_ORACLE_H
#define XP_TESTS_UNWIND_ORACLE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Compares our frames of the caller with libunwind's and with backtrace()'s. */
void unwind_probe(void);

/* How many probes were compared so far. */
int unwind_probes(void);

struct unwind_case {
    const char *name;
    void (*run)(void);
    int probes; /* it must have made */
};

extern const struct unwind_case unwind_cases_c[], unwind_cases_cxx[]; /* ends with a NULL name */

#ifdef __cplusplus
}
#endif

#endif
