/* SPDX-License-Identifier: MIT */
/* record.h - what is remembered of one sampled block.
 *
 * Layer core, which stores records and never interprets them: preload fills them in, profile adds
 * them up. A record lives as long as its block; it is taken back by exactly one free. */
#ifndef XP_CORE_RECORD_H
#define XP_CORE_RECORD_H

#include "base/compiler.h"

struct xp_record {
    uint64_t size;      /* bytes asked for */
    double weight;      /* objects that this one stands for, 1/p >= 1 */
    uint64_t time_ns;   /* CLOCK_MONOTONIC at the allocation */
    uint32_t node;      /* call-tree node, capture/tree.h; its leaf is the entry point */
    uint32_t thread;    /* serial number of the allocating thread, from 1 */
    uint16_t row_class; /* xp_row_class() of the size: rows of a dump hold one size class each */
    uint8_t entry;      /* preload's enum of entry points */
    uint8_t flags;      /* XP_RECORD_* */
    int32_t resized;    /* bytes by which size has changed since the allocation was counted */
};

/* The program asked for the usable size and may use all of it. */
#define XP_RECORD_USABLE_ASKED 1u

#endif
