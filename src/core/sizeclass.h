/* SPDX-License-Identifier: MIT */
/* sizeclass.h - which block size serves a request.
 *
 * Layer core. Pure. Classes 0..31 are small (multiples of 16 to 256, then 8 steps per doubling to
 * 1 KiB), 32..51 medium (4 steps per doubling to 32 KiB). A class size that 2^a divides has all its
 * blocks at multiples of 2^a. */
#ifndef XP_CORE_SIZECLASS_H
#define XP_CORE_SIZECLASS_H

#include "base/compiler.h"

#define XP_SMALL_MAX      ((size_t)1024)
#define XP_SMALL_CLASSES  32u
#define XP_MEDIUM_MAX     ((size_t)32768)
#define XP_MEDIUM_CLASSES 20u
#define XP_CLASSES        (XP_SMALL_CLASSES + XP_MEDIUM_CLASSES)
#define XP_NO_CLASS       XP_CLASSES

/* Index (size + 15) / 16, size <= XP_SMALL_MAX; size 0 is served as 1. */
#define XP_SMALL_INDEXES (XP_SMALL_MAX / 16 + 1)
extern XP_HIDDEN const uint8_t xp_small_class[XP_SMALL_INDEXES];
/* Index (size - 1) / 256, XP_SMALL_MAX < size <= XP_MEDIUM_MAX; counted from the first medium. */
extern XP_HIDDEN const uint8_t xp_medium_class[128];
extern XP_HIDDEN const uint32_t xp_class_size[XP_CLASSES];

/* The class of a request, or XP_NO_CLASS when it needs slices of its own. align: 0 or 2^a. */
unsigned xp_class_find(size_t size, size_t align);

#endif
