/* SPDX-License-Identifier: MIT */
/* cfi_read.h - numbers and encoded pointers out of unwind tables, never past their segment.
 *
 * Layer capture, internal. Errors stick: readers go on with zeros and ask .bad once. */
#ifndef XP_CAPTURE_CFI_READ_H
#define XP_CAPTURE_CFI_READ_H

#include "capture/cfi.h"

struct xp_cfi_reader {
    const uint8_t *at, *end;
    bool bad;
};

/* Pointer encodings: a format, a base, and perhaps one more load. */
enum {
    XP_PE_OMIT = 0xff,
    XP_PE_FORMAT = 0x0f,
    XP_PE_BASE = 0x70,
    XP_PE_PCREL = 0x10,
    XP_PE_DATAREL = 0x30,
    XP_PE_ALIGNED = 0x50,
    XP_PE_INDIRECT = 0x80
};

/* From at to the end of the segment; bad when at does not lie in it. */
void xp_cfi_reader_init(struct xp_cfi_reader *reader, const uint8_t *at,
                        const struct xp_cfi_bounds *bounds);

uint64_t xp_cfi_read_fixed(struct xp_cfi_reader *reader, size_t size); /* 1, 2, 4 or 8 bytes */
uint64_t xp_cfi_read_uleb(struct xp_cfi_reader *reader);
int64_t xp_cfi_read_sleb(struct xp_cfi_reader *reader);
const char *xp_cfi_read_text(struct xp_cfi_reader *reader); /* "" when it has no end */

/* data: what data-relative pointers are relative to. False: bad, or an encoding that cannot be. */
bool xp_cfi_read_pointer(struct xp_cfi_reader *reader, uint8_t encoding, uintptr_t data,
                         uintptr_t *ret_pointer);

/* Bytes of a pointer of fixed size, else 0. */
size_t xp_cfi_pointer_size(uint8_t encoding);

#endif
