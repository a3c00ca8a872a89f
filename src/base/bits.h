/* SPDX-License-Identifier: MIT */
/* bits.h - whole-number arithmetic: alignment, logarithms, checked sums.
 *
 * Layer base; uses compiler.h. All functions are pure and signal safe. */
#ifndef XP_BASE_BITS_H
#define XP_BASE_BITS_H

#include "base/compiler.h"

XP_ALWAYS_INLINE bool xp_is_pow2(size_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* Index of the highest set bit; x != 0. */
XP_ALWAYS_INLINE unsigned xp_log2_floor(size_t x)
{
    return 63u - (unsigned)__builtin_clzl(x);
}

/* Least k with 2^k >= x; x >= 1. */
XP_ALWAYS_INLINE unsigned xp_log2_ceil(size_t x)
{
    return x <= 1 ? 0 : xp_log2_floor(x - 1) + 1;
}

/* align is a power of two; the caller knows that the sum fits. */
XP_ALWAYS_INLINE size_t xp_align_up(size_t x, size_t align)
{
    return (x + align - 1) & ~(align - 1);
}

XP_ALWAYS_INLINE size_t xp_align_down(size_t x, size_t align)
{
    return x & ~(align - 1);
}

/* *ret = a + b, or false when it does not fit. */
XP_ALWAYS_INLINE bool xp_add_ok(size_t a, size_t b, size_t *ret)
{
    return !__builtin_add_overflow(a, b, ret);
}

XP_ALWAYS_INLINE bool xp_mul_ok(size_t a, size_t b, size_t *ret)
{
    return !__builtin_mul_overflow(a, b, ret);
}

#endif
