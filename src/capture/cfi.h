/* SPDX-License-Identifier: MIT */
/* cfi.h - .eh_frame in, one frame rule out.
 *
 * Layer capture, internal. Finds the description of one address in a module's unwind tables and
 * runs its program. The tables may be garbage: every read is checked against their segment. No
 * memory, no locks, no system calls. */
#ifndef XP_CAPTURE_CFI_H
#define XP_CAPTURE_CFI_H

#include "base/compiler.h"

/* Where a saved word lies, or how a value is had. base + offset, and one load if told so. */
enum xp_cfi_base { XP_CFI_SP, XP_CFI_FP, XP_CFI_CFA };

enum xp_cfi_how {
    XP_CFI_SAME,   /* the register still holds the caller's value */
    XP_CFI_SAVED,  /* in memory at base + offset */
    XP_CFI_VALUE,  /* is base + offset itself */
    XP_CFI_UNKNOWN /* is lost, or in a register that is not followed */
};

struct xp_cfi_place {
    uint8_t how;  /* enum xp_cfi_how */
    uint8_t base; /* enum xp_cfi_base */
    int32_t offset;
};

enum xp_cfi_kind {
    XP_CFI_STEP,        /* the fields below say how to go on */
    XP_CFI_END,         /* outermost frame: it has no return address */
    XP_CFI_NONE,        /* nothing is said about this address */
    XP_CFI_UNSUPPORTED, /* needs registers that are not followed, or cannot be read */
};

struct xp_cfi_rule {
    uint8_t kind;      /* enum xp_cfi_kind */
    bool signal_frame; /* the caller was interrupted: its pc is no return address */
    bool cfa_load;     /* the CFA is the word at cfa_base + cfa_offset */
    uint8_t cfa_base;  /* XP_CFI_SP or XP_CFI_FP */
    int32_t cfa_offset;
    struct xp_cfi_place ra, fp;
};

/* The segment that the tables lie in. */
struct xp_cfi_bounds {
    const uint8_t *low, *high;
};

/* The rule at address. frame_header: the module's .eh_frame_hdr. */
void xp_cfi_find(const uint8_t *frame_header, const struct xp_cfi_bounds *bounds, uintptr_t address,
                 struct xp_cfi_rule *ret_rule);

/* Does a description begin exactly at address? */
bool xp_cfi_begins(const uint8_t *frame_header, const struct xp_cfi_bounds *bounds,
                   uintptr_t address);

#endif
