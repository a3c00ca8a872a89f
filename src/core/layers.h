/* SPDX-License-Identifier: MIT */
/* layers.h - which parts of the allocator work: all, but in measurements.
 *
 * Layer core. Asked in slow paths only. */
#ifndef XP_CORE_LAYERS_H
#define XP_CORE_LAYERS_H

#include "core/heap.h"

/* enum xp_layer; set once, at the first slow path, by core/start.c. */
extern XP_HIDDEN uint32_t xp_layers;

XP_ALWAYS_INLINE bool xp_layer_works(enum xp_layer layer)
{
    return XP_LIKELY(xp_layers & layer);
}

#endif
