/* SPDX-License-Identifier: MIT */
/* rules.c - how to leave the frame at an address: cached, or asked of the unwind tables. */
#include "capture/rules.h"

#include <errno.h>

#include "base/hash.h"
#include "base/meta.h"
#include "capture/code_map.h"
#include "capture/history.h"

/* All modules of a large program together have about 1200 different rules, and nearly all of them
 * fit into a word. */
#define RARE_COUNT 4096u
#define RARE_TRIES 32u

#define CFA_MAX     ((1 << 14) * 8) /* exclusive */
#define FP_SLOT_MAX 255

enum rare_state { RARE_FREE, RARE_WRITING, RARE_READY };

struct rare {
    _Atomic uint32_t state;
    uint8_t frame; /* enum xp_frame_kind */
    struct xp_cfi_rule rule;
};

_Atomic uint64_t *xp_rules_table;

static struct {
    struct rare rare[RARE_COUNT]; /* open addressing by contents */
    _Atomic uint32_t turn;        /* which word of a full group goes */
} rules XP_BULK;

int xp_rules_init(void)
{
    if (!xp_rules_table)
        xp_rules_table = xp_meta_map(XP_RULES_GROUPS * XP_RULES_GROUP * sizeof(uint64_t));
    return xp_rules_table ? 0 : -ENOMEM;
}

static bool same_place(const struct xp_cfi_place *a, const struct xp_cfi_place *b)
{
    return a->how == b->how && a->base == b->base && a->offset == b->offset;
}

static bool same_rule(const struct xp_cfi_rule *a, const struct xp_cfi_rule *b)
{
    return a->kind == b->kind && a->signal_frame == b->signal_frame && a->cfa_load == b->cfa_load &&
           a->cfa_base == b->cfa_base && a->cfa_offset == b->cfa_offset &&
           same_place(&a->ra, &b->ra) && same_place(&a->fp, &b->fp);
}

static uint64_t hash_rule(enum xp_frame_kind frame, const struct xp_cfi_rule *rule)
{
    uint64_t h = xp_hash_word((uint64_t)frame << 32 | (uint32_t)rule->cfa_offset);

    h = xp_hash_add(h, (uint64_t)(uint32_t)rule->ra.offset << 32 | (uint32_t)rule->fp.offset);
    return xp_hash_add(h, (uint64_t)rule->cfa_base << 32 | (uint64_t)rule->cfa_load << 24 |
                              (uint64_t)rule->fp.how << 16 | (uint64_t)rule->ra.base << 8 |
                              rule->signal_frame);
}

/* The number of a rare rule; false when there is no place left. A place that somebody else is
 * writing is passed over: it may be ourselves, interrupted. */
static bool intern_rare(enum xp_frame_kind frame, const struct xp_cfi_rule *rule,
                        uint32_t *ret_index)
{
    uint64_t hash = hash_rule(frame, rule);

    for (uint32_t i = 0; i < RARE_TRIES; i++) {
        uint32_t index = (uint32_t)(hash + i) % RARE_COUNT;
        struct rare *rare = &rules.rare[index];
        /* acquire: pairs with the release below. */
        uint32_t state = atomic_load_explicit(&rare->state, memory_order_acquire);
        if (state == RARE_FREE &&
            atomic_compare_exchange_strong_explicit(&rare->state, &state, RARE_WRITING,
                                                    memory_order_acquire, memory_order_acquire)) {
            rare->frame = (uint8_t)frame;
            rare->rule = *rule;
            atomic_store_explicit(&rare->state, RARE_READY, memory_order_release);
            *ret_index = index;
            return true;
        }
        if (state == RARE_READY && rare->frame == frame && same_rule(&rare->rule, rule)) {
            *ret_index = index;
            return true;
        }
    }
    return false;
}

enum xp_frame_kind xp_rules_rare(uint64_t word, struct xp_cfi_rule *ret_rule)
{
    const struct rare *rare = &rules.rare[(word >> 2 & 0x3fffff) % RARE_COUNT];

    *ret_rule = rare->rule;
    return (enum xp_frame_kind)rare->frame;
}

/* The low 24 bits of a word, or 0 when the rule cannot be kept. */
static uint32_t encode(enum xp_frame_kind frame, const struct xp_cfi_rule *rule)
{
    uint32_t index;

    if (frame == XP_FRAME_STEP && !rule->signal_frame && !rule->cfa_load && rule->cfa_offset >= 0 &&
        rule->cfa_offset < CFA_MAX && rule->cfa_offset % 8 == 0 && rule->ra.base == XP_CFI_CFA &&
        rule->ra.offset == -8) {
        uint32_t base = rule->cfa_base == XP_CFI_SP ? XP_RULE_SP : XP_RULE_FP;
        uint32_t word = base | (uint32_t)rule->cfa_offset >> 1;
        int32_t slot = rule->fp.offset / -8;
        if (rule->fp.how == XP_CFI_SAME)
            return word;
        if (rule->fp.how == XP_CFI_SAVED && rule->fp.base == XP_CFI_CFA &&
            rule->fp.offset % 8 == 0 && slot > 0 && slot <= FP_SLOT_MAX)
            return word | (uint32_t)slot << 16;
    }
    if (!intern_rare(frame, rule, &index))
        return 0;
    return XP_RULE_RARE | index << 2;
}

/* Into a free or outdated word of its group, else in place of any. */
static void keep(uintptr_t address, uint32_t generation, uint32_t low)
{
    struct xp_rule_key key = xp_rules_key(address);
    uint64_t word = (uint64_t)key.tag << 32 | (uint64_t)(generation & 0xff) << 24 | low;

    if (!xp_rules_table || low == 0)
        return;
    _Atomic uint64_t *group = xp_rules_table + (size_t)key.group * XP_RULES_GROUP;
    unsigned victim =
        atomic_fetch_add_explicit(&rules.turn, 1, memory_order_relaxed) % XP_RULES_GROUP;
    for (unsigned i = 0; i < XP_RULES_GROUP; i++) {
        uint64_t old = atomic_load_explicit(&group[i], memory_order_relaxed);
        if (old == 0 || (old >> 24 & 0xff) != (generation & 0xff)) {
            victim = i;
            break;
        }
    }
    /* release: pairs with xp_rules_lookup(). */
    atomic_store_explicit(&group[victim], word, memory_order_release);
}

/* Eight bits of the generation are kept in a word. Before they come round again, what is left of
 * the old turn goes. */
static void forget_old_turns(uint32_t generation)
{
    static _Atomic uint32_t turn;
    uint32_t now = generation >> 8, was = atomic_load_explicit(&turn, memory_order_relaxed);

    if (XP_LIKELY(now == was) ||
        !atomic_compare_exchange_strong_explicit(&turn, &was, now, memory_order_relaxed,
                                                 memory_order_relaxed) ||
        !xp_rules_table)
        return;
    for (size_t i = 0; i < XP_RULES_GROUPS * XP_RULES_GROUP; i++) {
        if (atomic_load_explicit(&xp_rules_table[i], memory_order_relaxed) != 0)
            atomic_store_explicit(&xp_rules_table[i], 0, memory_order_relaxed);
    }
}

/* Two places that nobody describes end every stack that reaches them: the loader's first
 * instructions, where programs begin; and a function whose very first byte is a "return address",
 * which no call put there but makecontext() and its like. */
static bool is_outermost(const struct xp_code *code, const struct xp_cfi_bounds *bounds,
                         uintptr_t address)
{
    return code->is_loader || (code->low && xp_cfi_begins(code->frame_header, bounds, address + 1));
}

enum xp_frame_kind xp_rules_find_slow(uintptr_t address, uint32_t generation,
                                      struct xp_cfi_rule *ret_rule)
{
    struct xp_code code;
    enum xp_frame_kind frame;

    forget_old_turns(generation);
    if (!xp_history_find(address, &code)) {
        /* Not kept: compilers reuse their memory for other code. */
        return xp_code_map_has(address) ? XP_FRAME_GUESS : XP_FRAME_BAD;
    }
    if (address < code.text_start || address >= code.text_end)
        return XP_FRAME_BAD;

    struct xp_cfi_bounds bounds = {code.low, code.high};
    *ret_rule = (struct xp_cfi_rule){.kind = XP_CFI_NONE};
    if (code.frame_header && code.low)
        xp_cfi_find(code.frame_header, &bounds, address, ret_rule);
    switch (ret_rule->kind) {
    case XP_CFI_STEP:
        frame = XP_FRAME_STEP;
        break;
    case XP_CFI_END:
        frame = XP_FRAME_END;
        break;
    case XP_CFI_NONE:
        frame = is_outermost(&code, &bounds, address) ? XP_FRAME_END : XP_FRAME_GUESS;
        break;
    default:
        frame = XP_FRAME_GUESS;
        break;
    }
    if (frame != XP_FRAME_STEP)
        *ret_rule = (struct xp_cfi_rule){.kind = XP_CFI_NONE};
    if (code.module != 0)
        keep(address, generation, encode(frame, ret_rule));
    return frame;
}

bool xp_rules_is_code(uintptr_t address)
{
    struct xp_code code;

    if (xp_history_find(address, &code))
        return address >= code.text_start && address < code.text_end;
    return xp_code_map_has(address);
}
