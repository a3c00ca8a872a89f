/* SPDX-License-Identifier: MIT */
/* dump.h - writes the profile of this moment to a descriptor.
 *
 * Layer profile; uses base, format, capture, core. The caller holds XP_RANK_DUMP. */
#ifndef XP_PROFILE_DUMP_H
#define XP_PROFILE_DUMP_H

#include "profile/facts.h"

/* 0, -ENOMEM, or the -errno of the file; -EFBIG rather than the signal that the kernel would send
 * beyond RLIMIT_FSIZE. seed fixes the rounding of rows. */
int xp_dump_write(int fd, const struct xp_facts *facts, uint64_t seed);

#endif
