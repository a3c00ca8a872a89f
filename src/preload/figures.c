/* SPDX-License-Identifier: MIT */
/* figures.c - what the program may ask its allocator: mallinfo, malloc_info, malloc_stats, trim. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>

#include "base/compiler.h"
#include "base/os.h"
#include "base/out.h"
#include "core/heap.h"

/* In glibc's terms: memory from the system is arena + hblkhd, and arena = in use + free. */
static struct mallinfo2 figures(const struct xp_core_stats *stats)
{
    size_t free_bytes =
        stats->mapped_bytes > stats->live_bytes ? stats->mapped_bytes - stats->live_bytes : 0;

    return (struct mallinfo2){
        .arena = stats->mapped_bytes,
        .hblkhd = stats->huge_bytes,
        .uordblks = stats->live_bytes,
        .fordblks = free_bytes,
        .keepcost = stats->dirty_bytes,
    };
}

XP_EXPORT struct mallinfo2 mallinfo2(void)
{
    struct xp_core_stats stats;

    xp_core_stats_get(&stats);
    return figures(&stats);
}

static int as_int(size_t value)
{
    return value > INT32_MAX ? INT32_MAX : (int)value;
}

/* The older form has room for 2 GiB; larger figures stop there. */
XP_EXPORT struct mallinfo mallinfo(void)
{
    struct mallinfo2 wide = mallinfo2();

    return (struct mallinfo){
        .arena = as_int(wide.arena),
        .hblkhd = as_int(wide.hblkhd),
        .uordblks = as_int(wide.uordblks),
        .fordblks = as_int(wide.fordblks),
        .keepcost = as_int(wide.keepcost),
    };
}

XP_EXPORT int malloc_info(int options, FILE *file)
{
    struct xp_core_stats stats;

    if (options != 0) {
        errno = EINVAL;
        return -1;
    }
    xp_core_stats_get(&stats);
    int r = fprintf(file,
                    "<malloc version=\"1\" allocator=\"libxprof\">\n"
                    "<system type=\"current\" size=\"%zu\"/>\n"
                    "<aspace type=\"total\" size=\"%zu\"/>\n"
                    "<total type=\"rest\" size=\"%zu\"/>\n"
                    "<total type=\"mmap\" size=\"%zu\"/>\n"
                    "<live size=\"%zu\"/>\n"
                    "<samples count=\"%llu\"/>\n"
                    "</malloc>\n",
                    stats.committed_bytes, stats.mapped_bytes, stats.dirty_bytes, stats.huge_bytes,
                    stats.live_bytes, (unsigned long long)stats.samples);
    return r < 0 ? -1 : 0;
}

static void line(struct xp_out *out, const char *name, uint64_t value)
{
    xp_out_text(out, name);
    xp_out_unsigned(out, value, 16);
    xp_out_char(out, '\n');
}

XP_EXPORT void malloc_stats(void)
{
    char buffer[1024];
    struct xp_core_stats stats;
    struct xp_out out;

    xp_core_stats_get(&stats);
    xp_out_init(&out, 2, buffer, sizeof(buffer));
    line(&out, "mapped bytes    =", stats.mapped_bytes);
    line(&out, "committed bytes =", stats.committed_bytes);
    line(&out, "free, not given back =", stats.dirty_bytes);
    line(&out, "in use bytes    =", stats.live_bytes);
    line(&out, "huge bytes      =", stats.huge_bytes);
    line(&out, "samples         =", stats.samples);
    xp_out_flush(&out);
}

XP_EXPORT int malloc_trim(size_t pad)
{
    (void)pad;
    return xp_heap_trim();
}

/* glibc's knobs turn parts that we do not have; their callers expect to be thanked. */
XP_EXPORT int mallopt(int parameter, int value)
{
    (void)parameter;
    (void)value;
    return 1;
}
