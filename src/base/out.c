/* SPDX-License-Identifier: MIT */
/* out.c - buffered text to a file descriptor or to memory. */
#include "base/out.h"

#include <errno.h>
#include <string.h>

#include "base/os.h"

void xp_out_init(struct xp_out *out, int fd, char *buffer, size_t size)
{
    *out = (struct xp_out){.buffer = buffer, .size = size, .fd = fd};
}

int xp_out_flush(struct xp_out *out)
{
    if (out->fd < 0)
        return out->error;
    if (out->limit != 0 && out->sent + out->length > out->limit && out->error == 0)
        out->error = -EFBIG;
    if (out->length > 0 && out->error == 0)
        out->error = xp_os_write_all(out->fd, out->buffer, out->length);
    if (out->error == 0)
        out->sent += out->length;
    out->length = 0;
    return out->error;
}

void xp_out_bytes(struct xp_out *out, const void *bytes, size_t size)
{
    const char *at = bytes;

    out->total += size;
    while (size > 0) {
        size_t room = out->size - out->length;
        size_t n = size < room ? size : room;

        memcpy(out->buffer + out->length, at, n);
        out->length += n;
        at += n;
        size -= n;
        if (size == 0)
            return;
        if (out->fd < 0) {
            if (out->error == 0)
                out->error = -ENOSPC;
            return;
        }
        if (xp_out_flush(out) < 0)
            return;
    }
}

void xp_out_text(struct xp_out *out, const char *text)
{
    xp_out_bytes(out, text, strlen(text));
}

void xp_out_char(struct xp_out *out, char c)
{
    xp_out_bytes(out, &c, 1);
}

static void number(struct xp_out *out, uint64_t value, bool negative, unsigned width)
{
    char digits[24];
    size_t n = sizeof(digits);

    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    if (negative)
        digits[--n] = '-';
    for (size_t length = sizeof(digits) - n; length < width; length++)
        xp_out_char(out, ' ');
    xp_out_bytes(out, digits + n, sizeof(digits) - n);
}

void xp_out_signed(struct xp_out *out, int64_t value, unsigned width)
{
    number(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, width);
}

void xp_out_unsigned(struct xp_out *out, uint64_t value, unsigned width)
{
    number(out, value, false, width);
}

void xp_out_hex(struct xp_out *out, uint64_t value, unsigned digits)
{
    char text[16];
    size_t n = sizeof(text);

    do {
        text[--n] = "0123456789abcdef"[value & 15];
        value >>= 4;
    } while (value != 0);
    for (size_t length = sizeof(text) - n; length < digits; length++)
        xp_out_char(out, '0');
    xp_out_bytes(out, text + n, sizeof(text) - n);
}

void xp_out_fixed(struct xp_out *out, double value, unsigned decimals)
{
    bool negative = value < 0;
    uint64_t scale = 1;

    for (unsigned i = 0; i < decimals; i++)
        scale *= 10;
    if (negative)
        value = -value;
    uint64_t whole = (uint64_t)value;
    uint64_t part = (uint64_t)((value - (double)whole) * (double)scale + 0.5);
    if (part >= scale) {
        whole++;
        part -= scale;
    }
    if (negative && (whole | part))
        xp_out_char(out, '-');
    xp_out_unsigned(out, whole, 0);
    if (decimals == 0)
        return;
    xp_out_char(out, '.');
    for (uint64_t digit = scale / 10; digit > 0; digit /= 10)
        xp_out_char(out, (char)('0' + part / digit % 10));
}

void xp_out_escaped(struct xp_out *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '\n') {
            xp_out_text(out, "\\n");
        } else if (c == '\\') {
            xp_out_text(out, "\\\\");
        } else if (c < 32 || c == 127) {
            xp_out_text(out, "\\x");
            xp_out_hex(out, c, 2);
        } else {
            xp_out_char(out, (char)c);
        }
    }
}
