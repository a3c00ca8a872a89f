/* SPDX-License-Identifier: MIT */
/* unpack.c - zlib, zstd and xz, each a whole buffer into a whole buffer. */
#include "report/unpack.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

/* Newer than the C library's header of some systems. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* deflate reaches 1032:1 at best; zstd and xz have no such bound, so only the sum counts. */
#define ZLIB_RATIO_MAX 1032u
#define UNPACKED_MAX   (UINT64_C(1) << 32)
#define XZ_MEMORY_MAX  (UINT64_C(256) << 20)
#define XZ_FIRST_ROOM  (UINT64_C(1) << 16)

static int unpack_zlib(const uint8_t *data, uint64_t size, uint8_t *to, uint64_t to_size)
{
    z_stream z = {0};
    if (inflateInit(&z) != Z_OK)
        return -ENOMEM;
    int r = Z_OK;
    uint64_t in = 0, out = 0;
    while (r == Z_OK) {
        uInt step_in = (uInt)(size - in > INT_MAX ? INT_MAX : size - in);
        uInt step_out = (uInt)(to_size - out > INT_MAX ? INT_MAX : to_size - out);
        z.next_in = (uint8_t *)(uintptr_t)data + in;
        z.avail_in = step_in;
        z.next_out = to + out;
        z.avail_out = step_out;
        r = inflate(&z, Z_NO_FLUSH);
        if (z.avail_in == step_in && z.avail_out == step_out && r == Z_OK)
            r = Z_BUF_ERROR;
        in += step_in - z.avail_in;
        out += step_out - z.avail_out;
    }
    inflateEnd(&z);
    return r == Z_STREAM_END && out == to_size ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -ENOEXEC;
}

int hr_unpack_section(const uint8_t *data, uint64_t size, bool old_style, uint8_t **ret_data,
                      uint64_t *ret_size)
{
    uint32_t method = ELFCOMPRESS_ZLIB;
    uint64_t unpacked = 0;
    if (old_style) {
        if (size < 12 || memcmp(data, "ZLIB", 4) != 0)
            return -ENOEXEC;
        for (int i = 4; i < 12; i++)
            unpacked = unpacked << 8 | data[i];
        data += 12;
        size -= 12;
    } else {
        Elf64_Chdr header;
        if (size < sizeof(header))
            return -ENOEXEC;
        memcpy(&header, data, sizeof(header));
        method = header.ch_type;
        unpacked = header.ch_size;
        data += sizeof(header);
        size -= sizeof(header);
    }
    if (method != ELFCOMPRESS_ZLIB && method != ELFCOMPRESS_ZSTD)
        return -EOPNOTSUPP;
    if (unpacked > UNPACKED_MAX || (method == ELFCOMPRESS_ZLIB && unpacked / ZLIB_RATIO_MAX > size))
        return -ENOEXEC;
    uint8_t *to = malloc(unpacked + 1);
    if (!to)
        return -ENOMEM;
    int r;
    if (method == ELFCOMPRESS_ZLIB)
        r = unpack_zlib(data, size, to, unpacked);
    else
        r = ZSTD_decompress(to, unpacked, data, size) == unpacked ? 0 : -ENOEXEC;
    if (r < 0) {
        free(to);
        return r;
    }
    to[unpacked] = 0;
    *ret_data = to;
    *ret_size = unpacked;
    return 0;
}

int hr_unpack_xz(const uint8_t *data, uint64_t size, uint8_t **ret_data, uint64_t *ret_size)
{
    lzma_stream z = LZMA_STREAM_INIT;
    if (lzma_stream_decoder(&z, XZ_MEMORY_MAX, 0) != LZMA_OK)
        return -ENOMEM;
    uint64_t room = XZ_FIRST_ROOM;
    uint8_t *to = malloc(room);
    int r = to ? 0 : -ENOMEM;
    z.next_in = data;
    z.avail_in = size;
    z.next_out = to;
    z.avail_out = to ? room : 0;
    while (r == 0) {
        lzma_ret l = lzma_code(&z, LZMA_FINISH);
        if (l == LZMA_STREAM_END)
            break;
        if (l != LZMA_OK || room >= UNPACKED_MAX) {
            r = l == LZMA_MEM_ERROR || l == LZMA_MEMLIMIT_ERROR ? -ENOMEM : -ENOEXEC;
            break;
        }
        if (z.avail_out == 0) {
            uint8_t *larger = realloc(to, room * 2);
            if (!larger) {
                r = -ENOMEM;
                break;
            }
            to = larger;
            z.next_out = to + room;
            z.avail_out = room;
            room *= 2;
        }
    }
    uint64_t unpacked = z.total_out;
    lzma_end(&z);
    if (r < 0) {
        free(to);
        return r;
    }
    *ret_data = to;
    *ret_size = unpacked;
    return 0;
}
