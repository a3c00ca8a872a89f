/* SPDX-License-Identifier: MIT */
/* real.c - the functions of the C library that ours stand in front of. */
#include "preload/real.h"

#include <dlfcn.h>
#include <errno.h>

/* In a program that is static as a whole there is no next library for dlsym() to find them in.
 * Linking such a one with libxprof.a must fail, and not the program: this name is the dynamic
 * loader's alone. */
extern void *__tls_get_addr(void *index);
__attribute__((used)) static void *(*const not_in_static_programs)(void *) = __tls_get_addr;

static const char *const names[XP_REALS] = {
    [XP_REAL_PTHREAD_CREATE] = "pthread_create",
    [XP_REAL_DLCLOSE] = "dlclose",
    [XP_REAL_EXECV] = "execv",
    [XP_REAL_EXECVE] = "execve",
    [XP_REAL_EXECVP] = "execvp",
    [XP_REAL_EXECVPE] = "execvpe",
    [XP_REAL_FEXECVE] = "fexecve",
    [XP_REAL_FREE] = "__libc_free",
    [XP_REAL_REALLOC] = "__libc_realloc",
    [XP_REAL_USABLE_SIZE] = "malloc_usable_size",
};

/* Written with the same value by whoever comes first. */
static _Atomic(void *) found[XP_REALS];

void *xp_real_known(enum xp_real which)
{
    return atomic_load_explicit(&found[which], memory_order_relaxed);
}

void *xp_real(enum xp_real which)
{
    void *function = xp_real_known(which);

    if (!function) {
        int error = errno;
        function = dlsym(RTLD_NEXT, names[which]);
        atomic_store_explicit(&found[which], function, memory_order_relaxed);
        errno = error;
    }
    return function;
}

void xp_real_init(void)
{
    for (int i = 0; i < XP_REALS; i++)
        xp_real((enum xp_real)i);
}
