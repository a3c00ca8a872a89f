/* SPDX-License-Identifier: MIT */
/* facts.c - the '#' lines of a dump: what the process and the profiler can say of themselves. */
#include "profile/facts.h"

#include <string.h>

#include "base/meta.h"
#include "base/os.h"
#include "capture/capture.h"
#include "core/heap.h"
#include "format/heap_write.h"
#include "profile/sums.h"

/* A value under construction; long enough for each of ours but the texts of others. */
struct value {
    struct xp_out out;
    char buffer[1024]; /* two stacks of XP_DIFFERENCE_FRAMES are the longest */
};

static void begin(struct value *v)
{
    xp_out_init(&v->out, -1, v->buffer, sizeof(v->buffer));
}

static void end(struct value *v, struct xp_out *out, const char *key)
{
    pp_heap_write_comment(out, key, v->buffer, v->out.length);
}

static void text(struct xp_out *out, const char *key, const char *value)
{
    pp_heap_write_comment(out, key, value, strlen(value));
}

static void number(struct xp_out *out, const char *key, uint64_t value)
{
    struct value v;

    begin(&v);
    xp_out_unsigned(&v.out, value, 0);
    end(&v, out, key);
}

static void time_of(struct xp_out *out, const char *key, uint64_t time_ns)
{
    struct value v;
    uint64_t part = time_ns % 1000000000;

    begin(&v);
    xp_out_unsigned(&v.out, time_ns / 1000000000, 0);
    xp_out_char(&v.out, '.');
    for (uint64_t digit = 100000000; digit > 0; digit /= 10)
        xp_out_char(&v.out, (char)('0' + part / digit % 10));
    end(&v, out, key);
}

/* " NAME N": the first one of a value goes without the blank. */
static void named(struct value *v, const char *name, uint64_t value)
{
    if (v->out.length > 0)
        xp_out_char(&v->out, ' ');
    xp_out_text(&v->out, name);
    xp_out_char(&v->out, ' ');
    xp_out_unsigned(&v->out, value, 0);
}

/* "NAME:   1234 kB" of /proc/self/status. */
static bool status_bytes(const char *status, size_t length, const char *name, uint64_t *ret_bytes)
{
    size_t n = strlen(name);

    for (const char *line = status, *stop = status + length; line < stop;) {
        const char *newline = memchr(line, '\n', (size_t)(stop - line));
        if (!newline)
            return false;
        if ((size_t)(newline - line) > n && memcmp(line, name, n) == 0 && line[n] == ':') {
            uint64_t kib = 0;
            for (const char *at = line + n + 1; at < newline; at++) {
                if (*at >= '0' && *at <= '9')
                    kib = kib * 10 + (uint64_t)(*at - '0');
            }
            *ret_bytes = kib << 10;
            return true;
        }
        line = newline + 1;
    }
    return false;
}

static void resident(struct xp_out *out)
{
    static const char *const names[] = {"VmHWM", "VmRSS", "RssAnon", "RssFile", "RssShmem"};
    char status[4096];
    struct value v;
    uint64_t bytes;

    ssize_t n = xp_os_read_file("/proc/self/status", status, sizeof(status));
    if (n <= 0)
        return;
    begin(&v);
    for (size_t i = 0; i < XP_ARRAY_LENGTH(names); i++) {
        if (status_bytes(status, (size_t)n, names[i], &bytes))
            named(&v, names[i], bytes);
    }
    if (v.out.length > 0)
        end(&v, out, PP_KEY_RSS);
}

static void stack(struct value *v, const char *whose, size_t count, const uintptr_t *pcs)
{
    named(v, whose, count);
    for (size_t i = 0; i < count; i++) {
        xp_out_text(&v->out, " 0x");
        xp_out_hex(&v->out, pcs[i], 0);
    }
}

/* The first stacks that the reference sees otherwise. */
static void differences(struct xp_out *out)
{
    struct xp_capture_difference kept[4];
    struct value v;

    size_t n = xp_capture_differences(kept, XP_ARRAY_LENGTH(kept));
    for (size_t i = 0; i < n; i++) {
        begin(&v);
        named(&v, "frame", kept[i].first);
        named(&v, "from", kept[i].skipped);
        stack(&v, "ours", kept[i].ours_count, kept[i].ours);
        stack(&v, "theirs", kept[i].theirs_count, kept[i].theirs);
        end(&v, out, PP_KEY_DIFFERENCE);
    }
}

static void captures(struct xp_out *out)
{
    struct xp_capture_stats stats;
    struct value v;

    xp_capture_stats_get(&stats);
    begin(&v);
    xp_out_unsigned(&v.out, stats.nodes, 0);
    xp_out_char(&v.out, ' ');
    xp_out_unsigned(&v.out, stats.nodes_max, 0);
    end(&v, out, PP_KEY_NODES);

    begin(&v);
    xp_out_unsigned(&v.out, stats.captures, 0);
    named(&v, "cut", stats.cut);
    named(&v, "guessed", stats.guessed);
    named(&v, "no-cfi", stats.no_cfi);
    named(&v, "bad", stats.bad);
    end(&v, out, PP_KEY_CAPTURES);

    if (stats.verified) {
        begin(&v);
        xp_out_unsigned(&v.out, stats.verified, 0);
        named(&v, "differ", stats.verify_differs);
        end(&v, out, PP_KEY_VERIFIED);
        differences(out);
    }

    begin(&v);
    named(&v, "tree", stats.tree_full);
    named(&v, "sums", xp_sums_spared());
    end(&v, out, PP_KEY_DROPS);
}

static void allocator(struct xp_out *out)
{
    struct xp_core_stats stats;
    struct value v;

    xp_core_stats_get(&stats);
    begin(&v);
    named(&v, "mapped", stats.mapped_bytes);
    named(&v, "committed", stats.committed_bytes);
    named(&v, "dirty", stats.dirty_bytes);
    named(&v, "huge", stats.huge_bytes);
    named(&v, "own", xp_meta_bytes());
    end(&v, out, PP_KEY_ALLOCATOR);
}

void xp_facts_write(struct xp_out *out, const struct xp_facts *facts)
{
    struct value v;

    text(out, PP_KEY_LIBXPROF, XP_VERSION);
    begin(&v);
    xp_out_hex(&v.out, facts->run, 16);
    end(&v, out, PP_KEY_RUN);
    number(out, PP_KEY_PID, (uint64_t)xp_os_getpid());
    number(out, PP_KEY_PPID, (uint64_t)xp_os_getppid());
    if (facts->command)
        text(out, PP_KEY_COMMAND, facts->command);
    time_of(out, PP_KEY_STARTED, facts->start_time_ns);
    time_of(out, PP_KEY_TIME, xp_os_realtime_ns());
    number(out, PP_KEY_SEQUENCE, facts->sequence);
    text(out, PP_KEY_REASON, facts->reason);
    number(out, PP_KEY_INTERVAL, xp_heap_sample_bytes());
    text(out, PP_KEY_UNWINDER, facts->unwinder);
    captures(out);
    resident(out);
    allocator(out);
}
