/* SPDX-License-Identifier: MIT */
/* dlopen_module.c - a library that is loaded and unloaded: built in several shapes that take the
 * same place, with other frames at the same addresses. */
#include <stddef.h>

typedef void *(*stress_call)(void *arg);
void *stress_module_run(stress_call call, void *arg, size_t depth);

#ifndef SHAPE
#define SHAPE 1
#endif

/* Neither inlined nor copied for one caller: one function, one place. */
#if __has_attribute(noipa)
#define OPAQUE __attribute__((noipa))
#else
#define OPAQUE __attribute__((noinline))
#endif

/* Frames of SHAPE * 104 bytes, entered depth times; the compiler may not merge or drop them. */
OPAQUE static void *deeper(stress_call call, void *arg, size_t depth)
{
    volatile char room[SHAPE * 104];

    room[depth % sizeof(room)] = (char)depth;
#if SHAPE == 2
    /* A frame of a size that is not known before: the unwinder needs the frame pointer. */
    volatile char *more = __builtin_alloca(depth * 16 + 16);
    more[depth] = 1;
#endif
    void *p = depth ? deeper(call, arg, depth - 1) : call(arg);
    room[0] = 1;
    return p;
}

void *stress_module_run(stress_call call, void *arg, size_t depth)
{
    void *p = deeper(call, arg, depth);
    __asm__ volatile("" : "+r"(p));
    return p;
}
