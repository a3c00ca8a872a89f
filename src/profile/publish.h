/* SPDX-License-Identifier: MIT */
/* publish.h - a file appears whole or not at all, under a name that nobody had.
 *
 * Layer profile; uses base. One owner per draft, no locks, no memory. */
#ifndef XP_PROFILE_PUBLISH_H
#define XP_PROFILE_PUBLISH_H

#include <sys/types.h>

#include "base/compiler.h"

/* PATH_MAX of the kernel: no longer name can be opened. */
#define XP_PATH_MAX ((size_t)4096)

/* A file that is being written, next to where it will be. Zeroed but for fd = -1: none. */
struct xp_draft {
    _Atomic int fd;
    char path[XP_PATH_MAX];
};

/* "PREFIX.0007.heap", or "PREFIX_PID.0007.heap" when pid is not 0. 0 or -ENAMETOOLONG; then name is
 * as much of it as fits. Always terminated. */
int xp_publish_name(const char *prefix, pid_t pid, uint64_t number, char *name, size_t size);

/* Makes an empty file beside prefix, for writing. 0 or -errno of the folder. */
int xp_draft_open(struct xp_draft *draft, const char *prefix);
/* Closes the draft and gives it the first free name from *number on, which then is one more than
 * the number taken. Never replaces a file. 0, name written; or -errno and the draft is removed. */
int xp_draft_publish(struct xp_draft *draft, const char *prefix, pid_t pid, uint64_t *number,
                     char *name, size_t size);
/* The same with a name of its own: -EEXIST and no draft when it is taken. */
int xp_draft_publish_as(struct xp_draft *draft, const char *name);
/* Closes and removes it. Does nothing if none is open. */
void xp_draft_drop(struct xp_draft *draft);
/* In a forked child: the file is the parent's; only the descriptor is closed. */
void xp_draft_forget(struct xp_draft *draft);

#endif
