/* SPDX-License-Identifier: MIT */
/* cleanup.h - removes dumps of ours whose process has ended.
 *
 * Layer profile; uses base. */
#ifndef XP_PROFILE_CLEANUP_H
#define XP_PROFILE_CLEANUP_H

/* Looks at PREFIX.*.heap, PREFIX_*.heap and PREFIX.*.part: those that begin as files of ours do,
 * and name a process that no longer runs, are removed. Silent; whatever fails is left as it is. */
void xp_cleanup(const char *prefix);

#endif
