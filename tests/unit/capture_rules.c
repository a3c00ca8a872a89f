/* SPDX-License-Identifier: MIT */
#include "capture/rules.h"

#include <stdlib.h>

#include "base/rng.h"
#include "capture/history.h"
#include "capture/modules.h"
#include "test.h"

__asm__(
    ".text\n"
    "sp_code:\n.cfi_startproc\n.cfi_def_cfa_offset 48\n.cfi_offset 6, -32\nnop\nnop\n.cfi_endproc\n"
    "fp_code:\n.cfi_startproc\n.cfi_def_cfa 6, 16\n.cfi_offset 6, -16\nnop\nnop\n.cfi_endproc\n"
    "odd_code:\n.cfi_startproc\n.cfi_def_cfa_offset 2000008\nnop\nnop\n.cfi_endproc\n"
    "odd_code_too:\n.cfi_startproc\n.cfi_def_cfa_offset 2000008\nnop\nnop\n.cfi_endproc\n"
    "end_code:\n.cfi_startproc\n.cfi_undefined 16\nnop\nnop\n.cfi_endproc\n"
    "bare_code:\n.fill 32, 1, 0x90\n");
extern char sp_code[], fp_code[], odd_code[], odd_code_too[], end_code[], bare_code[];

static void start(void)
{
    static bool done;

    if (!done)
        xp_history_init();
    CHECK_EQ(xp_rules_init(), 0);
    done = true;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

TEST(no_two_addresses_share_group_and_tag)
{
    enum { COUNT = 1 << 18 };
    uint64_t *keys = malloc(COUNT * sizeof(*keys));
    struct xp_rng rng;

    /* Neighbours, multiples, and any: as code addresses are. */
    xp_rng_seed(&rng, 20231);
    for (uint64_t i = 0; i < COUNT; i++) {
        uintptr_t address = i % 3 == 0   ? 0x7f1234560000 + i
                            : i % 3 == 1 ? i << 28 | 5
                                         : (xp_rng_next(&rng) & 0x7fffffffffff) | 1;
        struct xp_rule_key key = xp_rules_key(address);
        CHECK(key.group < XP_RULES_GROUPS);
        keys[i] = (uint64_t)key.group << 32 | key.tag;
    }
    qsort(keys, COUNT, sizeof(*keys), by_number);
    size_t same = 0;
    for (size_t i = 1; i < COUNT; i++)
        same += keys[i] == keys[i - 1];
    free(keys);
    CHECK_EQ(same, 0); /* the random third of 2^47 has no pair either, with this seed */
}

TEST(a_rule_is_found_in_the_table_after_the_first_time)
{
    struct xp_cfi_rule rule;

    start();
    uintptr_t sp = (uintptr_t)sp_code, fp = (uintptr_t)fp_code;
    CHECK_EQ(xp_rules_lookup(sp, 0), 0);
    CHECK_EQ(xp_rules_find_slow(sp, 0, &rule), XP_FRAME_STEP);
    CHECK_EQ(xp_rules_find_slow(fp, 0, &rule), XP_FRAME_STEP);
    uint64_t word = xp_rules_lookup(sp, 0);
    CHECK_EQ(xp_rule_kind(word), XP_RULE_SP);
    CHECK_EQ(xp_rule_cfa_offset(word), 48);
    CHECK_EQ(xp_rule_fp_offset(word), 32);
    word = xp_rules_lookup(fp, 0);
    CHECK_EQ(xp_rule_kind(word), XP_RULE_FP);
    CHECK_EQ(xp_rule_cfa_offset(word), 16);
    CHECK_EQ(xp_rule_fp_offset(word), 16);
    CHECK_EQ(xp_rules_lookup(sp + 1, 0), 0);
}

TEST(rare_rules_of_one_kind_share_their_place)
{
    struct xp_cfi_rule rule;

    start();
    CHECK_EQ(xp_rules_find_slow((uintptr_t)odd_code, 0, &rule), XP_FRAME_STEP);
    CHECK_EQ(xp_rules_find_slow((uintptr_t)odd_code_too, 0, &rule), XP_FRAME_STEP);
    CHECK_EQ(xp_rules_find_slow((uintptr_t)end_code, 0, &rule), XP_FRAME_END);
    CHECK_EQ(xp_rules_find_slow((uintptr_t)bare_code + 2, 0, &rule), XP_FRAME_GUESS);
    uint64_t odd = xp_rules_lookup((uintptr_t)odd_code, 0);
    uint64_t too = xp_rules_lookup((uintptr_t)odd_code_too, 0);
    uint64_t end = xp_rules_lookup((uintptr_t)end_code, 0);
    uint64_t bare = xp_rules_lookup((uintptr_t)bare_code + 2, 0);
    CHECK(xp_rule_kind(odd) == XP_RULE_RARE && xp_rule_kind(end) == XP_RULE_RARE);
    CHECK_EQ((odd ^ too) & 0xffffff, 0);
    CHECK((odd ^ end) & 0xffffff);
    CHECK_EQ(xp_rules_rare(odd, &rule), XP_FRAME_STEP);
    CHECK_EQ(rule.cfa_offset, 2000008);
    CHECK_EQ(xp_rules_rare(end, &rule), XP_FRAME_END);
    CHECK_EQ(xp_rules_rare(bare, &rule), XP_FRAME_GUESS);
}

TEST(rules_of_another_generation_are_not_seen_even_256_later)
{
    struct xp_cfi_rule rule;

    start();
    uintptr_t sp = (uintptr_t)sp_code;
    CHECK_EQ(xp_rules_find_slow(sp, 0, &rule), XP_FRAME_STEP);
    CHECK(xp_rules_lookup(sp, 0) != 0);
    CHECK_EQ(xp_rules_lookup(sp, 1), 0);
    CHECK_EQ(xp_rules_find_slow(sp, 1, &rule), XP_FRAME_STEP);
    CHECK(xp_rules_lookup(sp, 1) != 0);
    /* The number comes round: something else is looked up first, as every walk begins with. */
    CHECK_EQ(xp_rules_find_slow((uintptr_t)fp_code, 256, &rule), XP_FRAME_STEP);
    CHECK_EQ(xp_rules_lookup(sp, 256 + 1), 0);
    CHECK_EQ(xp_rules_lookup(sp, 256), 0);
}

TEST(what_is_no_code_is_bad_and_not_remembered)
{
    static int data;
    struct xp_cfi_rule rule;
    int local;

    start();
    CHECK_EQ(xp_rules_find_slow((uintptr_t)&data, 300, &rule), XP_FRAME_BAD);
    CHECK_EQ(xp_rules_find_slow((uintptr_t)&local, 300, &rule), XP_FRAME_BAD);
    CHECK_EQ(xp_rules_find_slow(23, 300, &rule), XP_FRAME_BAD);
    CHECK_EQ(xp_rules_lookup((uintptr_t)&data, 300), 0);
    CHECK(!xp_rules_is_code((uintptr_t)&data));
    CHECK(xp_rules_is_code((uintptr_t)start));
}
