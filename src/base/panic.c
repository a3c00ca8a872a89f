/* SPDX-License-Identifier: MIT */
/* panic.c - the end of the road: one line by raw write, then abort. */
#include "base/panic.h"

#include <stdlib.h>

#include "base/os.h"
#include "base/out.h"

void xp_panic(const char *text, uint64_t value)
{
    char buffer[512];
    struct xp_out out;

    xp_out_init(&out, 2, buffer, sizeof(buffer));
    xp_out_text(&out, "libxprof: ");
    xp_out_text(&out, text);
    xp_out_text(&out, " 0x");
    xp_out_hex(&out, value, 1);
    xp_out_text(&out, "\n");
    xp_out_flush(&out);
    abort();
}
