/* SPDX-License-Identifier: MIT */
/* out.h - buffered text to a file descriptor or to memory.
 *
 * Layer base. No malloc, no stdio; signal safe (a writer belongs to one caller). The first error
 * sticks: callers write on and ask once, at the end. */
#ifndef XP_BASE_OUT_H
#define XP_BASE_OUT_H

#include "base/compiler.h"

struct xp_out {
    char *buffer;   /* borrowed from the caller */
    size_t size;    /* of buffer */
    size_t length;  /* bytes waiting in it */
    uint64_t total; /* bytes accepted since the start, waiting ones included */
    uint64_t limit; /* bytes that fd may be sent; 0: any. Beyond, nothing is sent and error becomes
                       -EFBIG. Set by the owner after xp_out_init() */
    uint64_t sent;  /* bytes that went to fd */
    int fd;         /* -1: memory only; what does not fit is cut and error becomes -ENOSPC */
    int error;      /* 0 or the first -errno */
};

/* fd -1 writes to buffer only. buffer is borrowed until the last call. */
void xp_out_init(struct xp_out *out, int fd, char *buffer, size_t size);

void xp_out_bytes(struct xp_out *out, const void *bytes, size_t size);
void xp_out_text(struct xp_out *out, const char *text);
void xp_out_char(struct xp_out *out, char c);
/* Right-aligned in width with blanks (printf %*d, %*u); width 0: as short as it is. */
void xp_out_signed(struct xp_out *out, int64_t value, unsigned width);
void xp_out_unsigned(struct xp_out *out, uint64_t value, unsigned width);
/* Lower case, no prefix, at least digits digits (printf %0*x). */
void xp_out_hex(struct xp_out *out, uint64_t value, unsigned digits);
/* value with the given number of decimals (0..9), rounded; finite values below 2^63 only. */
void xp_out_fixed(struct xp_out *out, double value, unsigned decimals);
/* Text in which newline, backslash and control characters become \n, \\ and \xHH: one line. */
void xp_out_escaped(struct xp_out *out, const char *text, size_t size);

/* Sends what waits; 0 or the first error. Memory writers: nothing to send. */
int xp_out_flush(struct xp_out *out);

#endif
