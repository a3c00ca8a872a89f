/* SPDX-License-Identifier: MIT */
/* front.h - the part of a heap that the fast path works on.
 *
 * Layer core. The thread's one pointer leads to a front. Besides the fronts of heaps there are
 * three that hold nothing, so that the fast path falls through to the slow one without a test of
 * its own: the empty one (thread without a heap yet), the exited one, and each heap's shadow, which
 * stands in while the thread is inside a slow path: a signal handler cannot touch lists that are
 * being worked on. */
#ifndef XP_CORE_FRONT_H
#define XP_CORE_FRONT_H

#include "core/sizeclass.h"

struct xp_page;

enum xp_front_kind {
    XP_FRONT_EMPTY,
    XP_FRONT_EXITED,
    XP_FRONT_SHADOW,
    XP_FRONT_HEAP,
};

struct xp_front {
    uint64_t *restart; /* this thread's word, core/restart.h; never NULL */
    /* xp_small_class[], near: its own line saves the address of a table. Only zeros where nothing
     * can be had anyway. */
    uint8_t class_of[XP_SMALL_INDEXES];
    void *list[XP_SMALL_CLASSES]; /* blocks to hand out, chained; ends at the next sample */
    int64_t bytes_left;           /* medium and large: until the next sample */
    uint32_t kind;                /* enum xp_front_kind */
    /* Blocks of a small page of another heap that wait to go there together (core/remote.c). */
    uint32_t batch_room;        /* until it goes, at 0; one off now and then, as xp_page.out is */
    struct xp_page *batch_page; /* NULL: no batch; so for good in fronts that are not a heap's */
    void *batch;                /* chained; never NULL when batch_page is not */
};

/* Blocks that go together at most. */
#define XP_BATCH 16u

/* Blocks in one magazine at most. */
#define XP_MAGAZINE 31

/* Recently freed blocks of a medium class, the newest last. */
struct xp_magazine {
    uint16_t count;
    uint16_t limit;
    void *slots[XP_MAGAZINE];
};

_Static_assert(sizeof(struct xp_magazine) == 256, "a magazine is found by a shift");

/* What follows the front in a heap. */
struct xp_cache {
    struct xp_front front;
    struct xp_magazine magazine[XP_MEDIUM_CLASSES] XP_CACHE_ALIGNED;
};

extern XP_HIDDEN XP_TLS struct xp_front *xp_tls_front;

#endif
