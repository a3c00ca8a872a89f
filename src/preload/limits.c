/* SPDX-License-Identifier: MIT */
/* limits.c - calls of the program that change the ground we stand on: address-space limits,
 * locked memory and unloaded libraries. */

/* Both setrlimit and setrlimit64 are defined here: the header must not make them one. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/compiler.h"
#include "base/os.h"
#include "capture/modules.h"
#include "core/heap.h"
#include "preload/real.h"
#include "preload/start.h"

_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "one layout, two names");

/* 0 or -errno as the C library returns it. */
static int as_libc(int r)
{
    if (r < 0) {
        errno = -r;
        return -1;
    }
    return 0;
}

static int set_limit(pid_t pid, int resource, const void *limit, void *old)
{
    const struct rlimit64 *wanted = limit;

    /* A bad pointer is the kernel's to complain about. */
    if (wanted && resource == RLIMIT_AS && (pid == 0 || pid == xp_os_getpid()) &&
        xp_mode() == XP_MODE_OWN && xp_os_readable(wanted, sizeof(*wanted)) &&
        wanted->rlim_cur != RLIM64_INFINITY)
        xp_core_limit_address_space(wanted->rlim_cur);

    return as_libc(xp_os_prlimit(pid, resource, wanted, old));
}

XP_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
    return set_limit(0, (int)resource, limit, NULL);
}

XP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
    return set_limit(0, (int)resource, limit, NULL);
}

XP_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
                      struct rlimit *old)
{
    return set_limit(pid, (int)resource, limit, old);
}

XP_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
                        struct rlimit64 *old)
{
    return set_limit(pid, (int)resource, limit, old);
}

/* All address space counts against RLIMIT_MEMLOCK, also what is only reserved. */
XP_EXPORT int mlockall(int flags)
{
    struct rlimit64 limit;
    int r = xp_os_lock_all(flags);

    if (r == -ENOMEM && xp_mode() == XP_MODE_OWN && xp_os_getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
        limit.rlim_cur != RLIM64_INFINITY) {
        xp_core_limit_address_space(limit.rlim_cur);
        r = xp_os_lock_all(flags);
        if (r == 0 && (flags & MCL_FUTURE))
            xp_core_limit_reservations(limit.rlim_cur);
    }
    return as_libc(r);
}

XP_EXPORT int munlockall(void)
{
    int r = xp_os_unlock_all();

    if (r == 0)
        xp_core_limit_reservations(0);
    return as_libc(r);
}

/* Unlike dlopen, dlclose does not care who calls it. */
XP_EXPORT int dlclose(void *handle)
{
    int (*real)(void *) = (int (*)(void *))xp_real(XP_REAL_DLCLOSE);

    if (xp_mode() != XP_MODE_OWN)
        return real(handle);
    xp_modules_closing();
    int r = real(handle);
    xp_modules_closed();
    return r;
}
