/* SPDX-License-Identifier: MIT */
/* cfi_read.c - numbers and encoded pointers out of unwind tables, never past their segment. */
#include "capture/cfi_read.h"

#include <string.h>

#include "base/bits.h"

void xp_cfi_reader_init(struct xp_cfi_reader *reader, const uint8_t *at,
                        const struct xp_cfi_bounds *bounds)
{
    bool inside = at >= bounds->low && at < bounds->high;

    *reader = (struct xp_cfi_reader){
        .at = inside ? at : bounds->high, .end = bounds->high, .bad = !inside};
}

uint64_t xp_cfi_read_fixed(struct xp_cfi_reader *reader, size_t size)
{
    uint64_t value = 0;

    if (size > (size_t)(reader->end - reader->at)) {
        reader->bad = true;
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, size); /* little-endian, like us */
    reader->at += size;
    return value;
}

static uint64_t read_leb(struct xp_cfi_reader *reader, bool is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = xp_cfi_read_fixed(reader, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && (byte & 0x40) && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

uint64_t xp_cfi_read_uleb(struct xp_cfi_reader *reader)
{
    return read_leb(reader, false);
}

int64_t xp_cfi_read_sleb(struct xp_cfi_reader *reader)
{
    return (int64_t)read_leb(reader, true);
}

const char *xp_cfi_read_text(struct xp_cfi_reader *reader)
{
    const char *text = (const char *)reader->at;
    const uint8_t *end = memchr(reader->at, 0, (size_t)(reader->end - reader->at));

    if (!end) {
        reader->bad = true;
        return "";
    }
    reader->at = end + 1;
    return text;
}

size_t xp_cfi_pointer_size(uint8_t encoding)
{
    if (encoding == XP_PE_OMIT)
        return 0;
    switch (encoding & XP_PE_FORMAT) {
    case 0x02: /* udata2 */
    case 0x0a: /* sdata2 */
        return 2;
    case 0x03: /* udata4 */
    case 0x0b: /* sdata4 */
        return 4;
    case 0x00: /* absptr */
    case 0x04: /* udata8 */
    case 0x08: /* signed */
    case 0x0c: /* sdata8 */
        return 8;
    default:
        return 0;
    }
}

bool xp_cfi_read_pointer(struct xp_cfi_reader *reader, uint8_t encoding, uintptr_t data,
                         uintptr_t *ret_pointer)
{
    if (encoding == XP_PE_OMIT || (encoding & XP_PE_INDIRECT))
        return false;
    if ((encoding & XP_PE_BASE) == XP_PE_ALIGNED) {
        size_t skip = -(uintptr_t)reader->at & 7;
        if (skip > (size_t)(reader->end - reader->at))
            return false;
        reader->at += skip;
    }

    uintptr_t base = (uintptr_t)reader->at, value;
    switch (encoding & XP_PE_FORMAT) {
    case 0x01:
        value = xp_cfi_read_uleb(reader);
        break;
    case 0x09:
        value = (uintptr_t)xp_cfi_read_sleb(reader);
        break;
    case 0x0a:
        value = (uintptr_t)(int16_t)xp_cfi_read_fixed(reader, 2);
        break;
    case 0x0b:
        value = (uintptr_t)(int32_t)xp_cfi_read_fixed(reader, 4);
        break;
    default: {
        size_t size = xp_cfi_pointer_size(encoding);
        if (size == 0)
            return false;
        value = xp_cfi_read_fixed(reader, size);
        break;
    }
    }
    if (reader->bad)
        return false;

    switch (encoding & XP_PE_BASE) {
    case 0:
    case XP_PE_ALIGNED:
        base = 0;
        break;
    case XP_PE_PCREL:
        break;
    case XP_PE_DATAREL:
        base = data;
        break;
    default: /* text and function relative: nobody writes them on x86-64 */
        return false;
    }
    /* Zero stands for "none" whatever it is relative to. */
    *ret_pointer = value == 0 ? 0 : base + value;
    return true;
}
