/* SPDX-License-Identifier: MIT */
/* api.c - what programs that know us may call: the functions of xprof.h. */
#define XPROF_LINKED
#include "xprof.h"

#include <errno.h>

#include "base/compiler.h"
#include "preload/process.h"
#include "preload/start.h"
#include "preload/thread.h"
#include "profile/profile.h"

XP_EXPORT int xprof_dump(const char *reason)
{
    if (xp_mode() != XP_MODE_OWN || !xp_process_is_mine())
        return -ENOTSUP;

    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    int r = xp_thread_is_nested(self, &before) ? -EDEADLK
                                               : xp_profile_dump(reason ? reason : "", NULL, 0);
    xp_thread_leave(self, before);
    return r;
}

XP_EXPORT const char *xprof_version(void)
{
    return XP_VERSION;
}

XP_EXPORT const struct xprof_table xprof_table = {
    .size = sizeof(xprof_table),
    .version = xprof_version,
    .dump = xprof_dump,
};
