/* SPDX-License-Identifier: MIT */
/* unpack.h - decompresses what ELF files pack: debug sections (zlib, zstd), .gnu_debugdata (xz).
 *
 * Layer report; uses nothing. Input is hostile: sizes it claims are bounded by what its bytes could
 * hold at best, and the caller's address-space limit does the rest. */
#ifndef HR_REPORT_UNPACK_H
#define HR_REPORT_UNPACK_H

#include <stdbool.h>
#include <stdint.h>

/* A section with an ELF compression header, or (old_style) with "ZLIB" and a big-endian size.
 * *ret_data is malloc'd. -ENOEXEC damaged, -EOPNOTSUPP another method, -ENOMEM. */
int hr_unpack_section(const uint8_t *data, uint64_t size, bool old_style, uint8_t **ret_data,
                      uint64_t *ret_size);

int hr_unpack_xz(const uint8_t *data, uint64_t size, uint8_t **ret_data, uint64_t *ret_size);

#endif
