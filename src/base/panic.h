/* SPDX-License-Identifier: MIT */
/* panic.h - the end of the road: our own invariant is broken, or the program smashed its heap.
 *
 * Layer base. Raw write to fd 2, no malloc, no stdio, signal safe. The texts are interface:
 * libxprof(7) lists them under DIAGNOSTICS. */
#ifndef XP_BASE_PANIC_H
#define XP_BASE_PANIC_H

#include "base/compiler.h"

/* Prints "libxprof: TEXT 0xVALUE" and aborts. */
_Noreturn XP_COLD void xp_panic(const char *text, uint64_t value);

/* Our own contracts; gone with NDEBUG. assert() of libc would call malloc. */
#ifdef NDEBUG
#define XP_ASSERT(x) ((void)0)
#else
#define XP_STRINGIFY2(x) #x
#define XP_STRINGIFY(x)  XP_STRINGIFY2(x)
#define XP_ASSERT(x)                                                                               \
    (XP_LIKELY(x)                                                                                  \
         ? (void)0                                                                                 \
         : xp_panic("assertion failed: " #x " at " __FILE__ ":" XP_STRINGIFY(__LINE__), 0))
#endif

#endif
