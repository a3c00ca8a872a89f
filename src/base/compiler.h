/* SPDX-License-Identifier: MIT */
/* compiler.h - what we ask of the compiler and the platform, said once.
 *
 * Layer base; uses nothing. */
#ifndef XP_BASE_COMPILER_H
#define XP_BASE_COMPILER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XP_LIKELY(x)     __builtin_expect(!!(x), 1)
#define XP_UNLIKELY(x)   __builtin_expect(!!(x), 0)
#define XP_COLD          __attribute__((cold, noinline))
#define XP_NOINLINE      __attribute__((noinline))
#define XP_ALWAYS_INLINE static inline __attribute__((always_inline))
#define XP_UNUSED        __attribute__((unused))
#define XP_HIDDEN        __attribute__((visibility("hidden"))) /* data: no GOT in between */
#define XP_EXPORT        __attribute__((visibility("default")))
#define XP_PRINTF(f, a)  __attribute__((format(printf, f, a)))

/* Initial-exec: a preloaded library owns static TLS, and __tls_get_addr may call malloc.
 * Our whole budget of static TLS is 16 bytes: dlopen of the library must keep working. */
#define XP_TLS __thread __attribute__((tls_model("initial-exec")))

#define XP_CACHE_LINE    64
#define XP_CACHE_ALIGNED __attribute__((aligned(XP_CACHE_LINE)))

/* The kernel page. x86-64 only, so a constant; "page" alone means core's run of slices. */
#define XP_OS_PAGE ((size_t)4096)

/* Large static data, of which little is touched at start. The linker sorts by alignment
 * (src/preload/meson.build), so these come first and all small variables lie together: every OS
 * page that is written at a start, and at a fork in parent and child, costs a page fault. */
#define XP_BULK __attribute__((aligned(4096)))

#define XP_ARRAY_LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* The thread pointer: names the calling thread without a system call. It may be reused by a
 * new thread once this one is gone, so it says "me" and never "the same as last time". */
XP_ALWAYS_INLINE uintptr_t xp_thread_pointer(void)
{
    uintptr_t tp;
    __asm__("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* Spin hint. */
XP_ALWAYS_INLINE void xp_relax(void)
{
    __builtin_ia32_pause();
}

#endif
