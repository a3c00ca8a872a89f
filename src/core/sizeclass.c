/* SPDX-License-Identifier: MIT */
/* sizeclass.c - which block size serves a request, and which row of a dump it belongs to. */
#include "core/sizeclass.h"

#include "base/bits.h"
#include "base/panic.h"
#include "core/heap.h"

const uint32_t xp_class_size[XP_CLASSES] = {
    16,   32,   48,   64,   80,   96,    112,   128,   144,   160,   176,   192,   208,
    224,  240,  256,  288,  320,  352,   384,   416,   448,   480,   512,   576,   640,
    704,  768,  832,  896,  960,  1024,  1280,  1536,  1792,  2048,  2560,  3072,  3584,
    4096, 5120, 6144, 7168, 8192, 10240, 12288, 14336, 16384, 20480, 24576, 28672, 32768,
};

const uint8_t xp_small_class[XP_SMALL_INDEXES] = {
    0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 16, 17, 17, 18,
    18, 19, 19, 20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 24, 24, 25, 25, 25, 25, 26, 26, 26,
    26, 27, 27, 27, 27, 28, 28, 28, 28, 29, 29, 29, 29, 30, 30, 30, 30, 31, 31, 31, 31,
};

/* Entries 0..3 stand for small sizes and are never asked for. */
const uint8_t xp_medium_class[128] = {
    0,  0,  0,  0,  0,  1,  2,  3,  4,  4,  5,  5,  6,  6,  7,  7,  8,  8,  8,  8,  9,  9,
    9,  9,  10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 12, 12, 12, 12, 12, 13, 13, 13, 13,
    13, 13, 13, 13, 14, 14, 14, 14, 14, 14, 14, 14, 15, 15, 15, 15, 15, 15, 15, 15, 16, 16,
    16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 17, 17, 17, 17, 17, 17, 17, 17,
    17, 17, 17, 17, 17, 17, 17, 17, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18, 18,
    18, 18, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19, 19,
};

unsigned xp_class_find(size_t size, size_t align)
{
    if (size > XP_MEDIUM_MAX || align > XP_MEDIUM_MAX)
        return XP_NO_CLASS;
    unsigned class = size <= XP_SMALL_MAX ? xp_small_class[(size + 15) >> 4]
                                          : XP_SMALL_CLASSES + xp_medium_class[(size - 1) >> 8];
    if (align <= 16)
        return class;
    while (class < XP_CLASSES && (xp_class_size[class] & (align - 1)) != 0)
        class ++;
    return class; /* XP_NO_CLASS when none fits */
}

/* Rows above the classes: four steps per doubling from 32 KiB on, as the medium classes go. */
#define ROW_FIRST_LOG 15u

unsigned xp_row_class(size_t size)
{
    unsigned class = xp_class_find(size, 0);
    if (class != XP_NO_CLASS)
        return class;
    unsigned log = xp_log2_floor(size - 1);
    unsigned step = (unsigned)((size - 1) >> (log - 2)) & 3;
    unsigned row = XP_CLASSES + (log - ROW_FIRST_LOG) * 4 + step;
    return row < XP_ROW_CLASSES ? row : XP_ROW_CLASSES - 1;
}

size_t xp_row_class_size(unsigned row_class)
{
    XP_ASSERT(row_class < XP_ROW_CLASSES);
    if (row_class < XP_CLASSES)
        return xp_class_size[row_class];
    unsigned log = ROW_FIRST_LOG + (row_class - XP_CLASSES) / 4;
    unsigned step = (row_class - XP_CLASSES) % 4;
    if (log > 62)
        return PTRDIFF_MAX;
    return ((size_t)1 << log) + ((size_t)(step + 1) << (log - 2));
}
