/* SPDX-License-Identifier: MIT */
/* profile_fakes.h - records, stacks and modules as a test wants them, in place of core and capture.
 *
 * Included by one file per program: the linker takes these instead of the layers' own. */
#ifndef XP_TESTS_PROFILE_FAKES_H
#define XP_TESTS_PROFILE_FAKES_H

#include "base/compiler.h"
#include "base/os.h"
#include "capture/capture.h"
#include "capture/modules.h"
#include "core/heap.h"

#define FAKE_RECORDS_MAX 20000

static struct {
    struct xp_record records[FAKE_RECORDS_MAX];
    size_t record_count;
    uint64_t sample_bytes;
    struct xp_module modules[4];
    size_t module_count;
} fake;

/* A live record, noted as allocated by nobody. */
XP_UNUSED static struct xp_record *fake_record(uint32_t node, uint64_t size, double weight)
{
    struct xp_record *record = &fake.records[fake.record_count++];

    *record = (struct xp_record){
        .size = size, .weight = weight, .node = node, .row_class = (uint16_t)(size / 16)};
    return record;
}

void xp_heap_each_record(void (*fn)(const struct xp_record *record, void *block, void *arg),
                         void *arg)
{
    for (size_t i = 0; i < fake.record_count; i++)
        fn(&fake.records[i], &fake, arg);
}

uint64_t xp_heap_sample_bytes(void)
{
    return fake.sample_bytes;
}

void xp_core_stats_get(struct xp_core_stats *ret_stats)
{
    *ret_stats = (struct xp_core_stats){.mapped_bytes = 2323, .committed_bytes = 101};
}

void xp_capture_stats_get(struct xp_capture_stats *ret_stats)
{
    *ret_stats = (struct xp_capture_stats){.captures = 29, .cut = 3, .nodes = 31, .nodes_max = 997};
}

/* Node n stands for three frames around n; XP_NODE_NESTED for its own. */
size_t xp_tree_pcs(xp_node node, uintptr_t *pcs, size_t max)
{
    size_t depth = node == XP_NODE_NESTED ? 1 : 3;

    for (size_t i = 0; i < depth && i < max; i++)
        pcs[i] = node == XP_NODE_NESTED ? XP_NESTED_PC : 0x7f0000000000 + node * 0x100 + i;
    return depth;
}

void xp_modules_changed(void)
{
}

void xp_modules_each(void (*fn)(const struct xp_module *module, void *arg), void *arg)
{
    for (size_t i = 0; i < fake.module_count; i++)
        fn(&fake.modules[i], arg);
}

#endif
