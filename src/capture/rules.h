/* SPDX-License-Identifier: MIT */
/* rules.h - how to leave the frame at an address: one word out of a cache, nearly always.
 *
 * Layer capture, internal. Lock-free and signal safe; one table for the whole process. */
#ifndef XP_CAPTURE_RULES_H
#define XP_CAPTURE_RULES_H

#include "base/compiler.h"
#include "capture/cfi.h"

/* The table: 256 pages of 128 groups of 4 words. A word:
 *
 *   63..32 tag | 31..24 generation | 23..16 fp slot | 15..2 CFA offset / 8 | 1..0 kind
 *
 * Page, group and tag together are an invertible function of the 47-bit address, so a match is no
 * guess. Addresses of one KiB of code share a page of the table: small programs touch little of
 * it. fp slot 0: the frame pointer is unchanged; k: it is saved at CFA - 8k. The return address is
 * at CFA - 8. What does not fit is a number of a rare rule in bits 23..2. */
#define XP_RULES_GROUP  4u
#define XP_RULES_GROUPS (256u * 128u)

enum xp_rule_kind { XP_RULE_MISS, XP_RULE_SP, XP_RULE_FP, XP_RULE_RARE };

extern _Atomic uint64_t *xp_rules_table; /* NULL before init, or without memory */

struct xp_rule_key {
    uint32_t group, tag;
};

XP_ALWAYS_INLINE struct xp_rule_key xp_rules_key(uintptr_t address)
{
    /* Short on purpose: the walker waits for it between two loads of every frame. */
    const uint64_t mask37 = ((uint64_t)1 << 37) - 1;
    uint64_t high = (address >> 10) * 0x9e3779b97f4a7c15u;
    uint32_t low = (uint32_t)(address * 0x2f5u) & 1023;
    return (struct xp_rule_key){.group = (uint32_t)((high & mask37) >> 29) << 7 | low >> 3,
                                .tag = (uint32_t)high << 3 | (low & 7)};
}

XP_ALWAYS_INLINE enum xp_rule_kind xp_rule_kind(uint64_t word)
{
    return (enum xp_rule_kind)(word & 3);
}

XP_ALWAYS_INLINE uintptr_t xp_rule_cfa_offset(uint64_t word)
{
    return (word & 0xfffc) << 1;
}

XP_ALWAYS_INLINE uintptr_t xp_rule_fp_offset(uint64_t word)
{
    return (word >> 16 & 0xff) * 8;
}

/* The word for address, 0 (XP_RULE_MISS) when it is not there. */
XP_ALWAYS_INLINE uint64_t xp_rules_lookup(uintptr_t address, uint32_t generation)
{
    struct xp_rule_key key = xp_rules_key(address);
    uint64_t wanted = (uint64_t)key.tag << 32 | (uint64_t)(generation & 0xff) << 24;
    _Atomic uint64_t *group = xp_rules_table;

    if (XP_UNLIKELY(!group))
        return 0;
    group += (size_t)key.group * XP_RULES_GROUP;
    for (unsigned i = 0; i < XP_RULES_GROUP; i++) {
        /* acquire: pairs with the release in rules.c; a rare rule behind the word is whole. */
        uint64_t word = atomic_load_explicit(&group[i], memory_order_acquire);
        if (XP_LIKELY((word ^ wanted) < ((uint64_t)1 << 24)))
            return word;
    }
    return 0;
}

/* What the slow way finds at an address. */
enum xp_frame_kind {
    XP_FRAME_STEP,  /* follow the rule */
    XP_FRAME_END,   /* outermost */
    XP_FRAME_GUESS, /* code without (usable) unwind information */
    XP_FRAME_BAD,   /* no code at all */
};

/* 0, or -ENOMEM: then every lookup misses, and all goes on slowly. */
int xp_rules_init(void);

/* For a word of kind miss: asks the unwind tables and, when *ret_rule holds for everybody, keeps
 * it. Kind rare: what the word stands for. *ret_rule is filled for XP_FRAME_STEP only. */
enum xp_frame_kind xp_rules_find_slow(uintptr_t address, uint32_t generation,
                                      struct xp_cfi_rule *ret_rule);
enum xp_frame_kind xp_rules_rare(uint64_t word, struct xp_cfi_rule *ret_rule);

/* Does a frame pointer guess lead to code? */
bool xp_rules_is_code(uintptr_t address);

#endif
