/* SPDX-License-Identifier: MIT */
/* cfi_expr.h - DWARF expressions, as far as frames use them.
 *
 * Layer capture, internal. Registers are not known when a rule is made, so the evaluator computes
 * with "stack pointer + 8" as with numbers: what comes out is a form that holds at every visit. */
#ifndef XP_CAPTURE_CFI_EXPR_H
#define XP_CAPTURE_CFI_EXPR_H

#include "capture/cfi_read.h"

enum xp_cfi_value_kind {
    XP_CFI_NUMBER,  /* number */
    XP_CFI_ADDRESS, /* base + number */
    XP_CFI_LOADED,  /* the word at base + number */
};

struct xp_cfi_value {
    uint8_t kind; /* enum xp_cfi_value_kind */
    uint8_t base; /* enum xp_cfi_base; not for numbers */
    int64_t number;
};

/* pc: what the expression may know as rip. push_cfa: the CFA is on the stack at the start. False
 * for anything that has no such form (other registers, a load of a load, loops). */
bool xp_cfi_evaluate(struct xp_cfi_reader *reader, uintptr_t pc, bool push_cfa,
                     struct xp_cfi_value *ret_value);

#endif
