/* SPDX-License-Identifier: MIT */
/* stats.c - all counters of the library, written when the program ends. */
#include "preload/stats.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "capture/capture.h"
#include "core/heap.h"
#include "preload/options.h"
#include "preload/process.h"
#include "preload/value.h"
#include "profile/profile.h"
#include "profile/publish.h"

enum unit { COUNT, BYTES, NS };

/* Everything at one moment. */
struct figures {
    struct xp_core_stats core;
    struct xp_capture_stats stacks;
    struct xp_os_usage usage;
    uint64_t rss_bytes;
    uint64_t calls[XP_OS_CALLS];
    struct xp_lock_waits locks[XP_RANKS];
};

struct row {
    const char *group; /* NULL: the one of the row before */
    const char *name;  /* less the unit */
    enum unit unit;
    size_t offset; /* of a uint64_t in struct figures */
};

#define ROW(group, name, unit, field)                                                              \
    {                                                                                              \
        (group), (name), (unit), offsetof(struct figures, field)                                   \
    }
#define LOCK(group, name, rank)                                                                    \
    ROW(group, name "_waits", COUNT, locks[rank].count), ROW(NULL, name "_wait", NS, locks[rank].ns)

/* The names are an interface: scripts read them. */
static const struct row rows[] = {
    ROW("core", "slow_calls", COUNT, core.slow_calls),
    ROW(NULL, "slow_small", COUNT, core.slow_small),
    ROW(NULL, "slow_medium", COUNT, core.slow_medium),
    ROW(NULL, "slow_large", COUNT, core.slow_large),
    ROW(NULL, "slow_huge", COUNT, core.slow_huge),
    ROW(NULL, "fresh_slices", COUNT, core.fresh_slices),
    ROW(NULL, "remote_frees", COUNT, core.remote_frees),
    ROW(NULL, "batched_frees", COUNT, core.batched_frees),
    ROW(NULL, "heaps", COUNT, core.heaps),
    ROW(NULL, "adopted_heaps", COUNT, core.adopted_heaps),
    ROW(NULL, "stolen_pages", COUNT, core.stolen_pages),
    ROW(NULL, "purge_calls", COUNT, core.purge_calls),
    ROW(NULL, "purged", BYTES, core.purge_bytes),
    ROW(NULL, "purge_time", NS, core.purge_ns),
    ROW(NULL, "purge_longest", NS, core.purge_longest_ns),
    ROW(NULL, "purge_held_back", COUNT, core.purge_held_back),
    ROW(NULL, "purge_reused", BYTES, core.purge_reused),
    ROW(NULL, "run_hits", COUNT, core.run_hits),
    ROW(NULL, "run_misses", COUNT, core.run_misses),
    ROW(NULL, "huge_hits", COUNT, core.huge_hits),
    ROW(NULL, "huge_misses", COUNT, core.huge_misses),
    ROW(NULL, "huge_moves", COUNT, core.huge_moves),
    ROW(NULL, "populate_calls", COUNT, core.populate_calls),
    ROW(NULL, "populated", BYTES, core.populate_bytes),
    ROW(NULL, "samples", COUNT, core.samples),
    ROW(NULL, "emergency", COUNT, core.emergency),
    ROW(NULL, "abandoned", COUNT, core.abandoned),
    ROW(NULL, "invalid_frees", COUNT, core.invalid_frees),
    ROW(NULL, "refused", COUNT, core.refused),
    ROW(NULL, "committed", BYTES, core.committed_bytes),
    ROW(NULL, "dirty", BYTES, core.dirty_bytes),
    ROW(NULL, "cached", BYTES, core.cached_bytes),
    ROW(NULL, "huge", BYTES, core.huge_bytes),
    ROW(NULL, "live", BYTES, core.live_bytes),
    ROW(NULL, "mapped", BYTES, core.mapped_bytes),

    ROW("stacks", "captures", COUNT, stacks.captures),
    ROW(NULL, "frames", COUNT, stacks.frames),
    ROW(NULL, "rule_misses", COUNT, stacks.rule_misses),
    ROW(NULL, "guessed", COUNT, stacks.guessed),
    ROW(NULL, "cut", COUNT, stacks.cut),
    ROW(NULL, "bad", COUNT, stacks.bad),
    ROW(NULL, "no_cfi", COUNT, stacks.no_cfi),
    ROW(NULL, "tree_full", COUNT, stacks.tree_full),
    ROW(NULL, "nodes", COUNT, stacks.nodes),
    ROW(NULL, "pcs", COUNT, stacks.pcs),

    ROW("process", "minor_faults", COUNT, usage.minor_faults),
    ROW(NULL, "major_faults", COUNT, usage.major_faults),
    ROW(NULL, "user", NS, usage.user_ns),
    ROW(NULL, "system", NS, usage.system_ns),
    ROW(NULL, "waits", COUNT, usage.waits),
    ROW(NULL, "preemptions", COUNT, usage.preemptions),
    ROW(NULL, "rss", BYTES, rss_bytes),
    ROW(NULL, "peak_rss", BYTES, usage.peak_rss_bytes),

    /* System calls that the library made for itself. */
    ROW("calls", "map", COUNT, calls[XP_OS_MAP]),
    ROW(NULL, "unmap", COUNT, calls[XP_OS_UNMAP]),
    ROW(NULL, "protect", COUNT, calls[XP_OS_PROTECT]),
    ROW(NULL, "advise", COUNT, calls[XP_OS_ADVISE]),
    ROW(NULL, "remap", COUNT, calls[XP_OS_REMAP]),
    ROW(NULL, "futex", COUNT, calls[XP_OS_FUTEX]),

    LOCK("locks", "dump", XP_RANK_DUMP),
    LOCK(NULL, "profile", XP_RANK_PROFILE),
    LOCK(NULL, "modules", XP_RANK_MODULES),
    LOCK(NULL, "threads", XP_RANK_THREADS),
    LOCK(NULL, "registry", XP_RANK_REGISTRY),
    LOCK(NULL, "resting", XP_RANK_RESTING),
    LOCK(NULL, "fallback", XP_RANK_FALLBACK),
    LOCK(NULL, "sampled", XP_RANK_SAMPLED),
    LOCK(NULL, "huge", XP_RANK_HUGE),
    LOCK(NULL, "segment", XP_RANK_SEGMENT),
    LOCK(NULL, "meta", XP_RANK_META),
};

static const char *const unit_texts[] = {[COUNT] = "", [BYTES] = " bytes", [NS] = " ns"};
static const char *const unit_tails[] = {[COUNT] = "", [BYTES] = "_bytes", [NS] = "_ns"};

/* One text at a time: written once, by whoever ends the process. */
static struct {
    _Atomic bool written;
    struct figures figures;
    struct xp_draft draft;
    char name[XP_PATH_MAX];
    char buffer[16384];
} stats XP_BULK = {.draft = {.fd = -1}};

/* The second number in /proc/self/statm. */
static uint64_t rss_now(void)
{
    char text[128];
    ssize_t size = xp_os_read_file("/proc/self/statm", text, sizeof(text) - 1);
    uint64_t pages = 0;

    if (size <= 0)
        return 0;
    text[size] = 0;
    const char *at = strchr(text, ' ');
    for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (uint64_t)(*at - '0');
    return pages * XP_OS_PAGE;
}

static void collect(struct figures *f)
{
    xp_core_stats_get(&f->core);
    xp_capture_stats_get(&f->stacks);
    if (xp_os_usage(&f->usage) < 0)
        memset(&f->usage, 0, sizeof(f->usage));
    for (unsigned i = 0; i < XP_OS_CALLS; i++)
        f->calls[i] = xp_os_call_count((enum xp_os_call)i);
    for (unsigned rank = 1; rank < XP_RANKS; rank++)
        xp_lock_waits_get((enum xp_lock_rank)rank, &f->locks[rank]);
    f->rss_bytes = rss_now();
}

static uint64_t value_of(const struct figures *f, const struct row *row)
{
    uint64_t value;

    memcpy(&value, (const char *)f + row->offset, sizeof(value));
    return value;
}

static void print_text(struct xp_out *out, const struct figures *f)
{
    const char *group = "";

    xp_out_text(out, "libxprof: counters of process ");
    xp_out_signed(out, xp_os_getpid(), 0);
    xp_out_char(out, '\n');
    for (size_t i = 0; i < XP_ARRAY_LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        group = row->group ? row->group : group;
        xp_out_unsigned(out, value_of(f, row), 16);
        xp_out_text(out, unit_texts[row->unit]);
        xp_out_char(out, '\t');
        xp_out_text(out, group);
        xp_out_char(out, '.');
        xp_out_text(out, row->name);
        xp_out_char(out, '\n');
    }
}

static void print_json(struct xp_out *out, const struct figures *f)
{
    xp_out_text(out, "{\"libxprof\": \"" XP_VERSION "\", \"pid\": ");
    xp_out_signed(out, xp_os_getpid(), 0);
    for (size_t i = 0; i < XP_ARRAY_LENGTH(rows); i++) {
        const struct row *row = &rows[i];
        if (row->group) {
            xp_out_text(out, i == 0 ? ",\n\"" : "},\n\"");
            xp_out_text(out, row->group);
            xp_out_text(out, "\": {");
        }
        xp_out_text(out, row->group ? "\"" : ",\n  \"");
        xp_out_text(out, row->name);
        xp_out_text(out, unit_tails[row->unit]);
        xp_out_text(out, "\": ");
        xp_out_unsigned(out, value_of(f, row), 0);
    }
    xp_out_text(out, "}}\n");
}

static void say_failed(const char *name, int error)
{
    struct xp_message m;

    xp_message_begin(&m);
    xp_out_text(&m.out, "libxprof: no counters written to ");
    xp_out_escaped(&m.out, name, strnlen(name, 800));
    if (error == -EEXIST) {
        xp_out_text(&m.out, ": the file exists");
    } else {
        xp_out_text(&m.out, ". Numeric errno is ");
        xp_out_signed(&m.out, -(int64_t)error, 0);
    }
    xp_message_end(&m);
}

/* FILE, and FILE_PID in children. */
static int file_name(const char *file)
{
    struct xp_out out;

    xp_out_init(&out, -1, stats.name, sizeof(stats.name) - 1);
    xp_out_text(&out, file);
    if (xp_process_is_child()) {
        xp_out_char(&out, '_');
        xp_out_signed(&out, xp_os_getpid(), 0);
    }
    stats.name[out.length] = 0;
    return out.error ? -ENAMETOOLONG : 0;
}

static void write_file(const char *file)
{
    struct xp_out out;
    int r = file_name(file);

    if (r == 0)
        r = xp_draft_open(&stats.draft, stats.name);
    if (r == 0) {
        int fd = atomic_load_explicit(&stats.draft.fd, memory_order_relaxed);
        xp_out_init(&out, fd, stats.buffer, sizeof(stats.buffer));
        print_json(&out, &stats.figures);
        r = xp_out_flush(&out);
        if (r == 0)
            r = xp_draft_publish_as(&stats.draft, stats.name);
        else
            xp_draft_drop(&stats.draft);
    }
    if (r < 0)
        say_failed(stats.name, r);
}

static void write_message(void)
{
    struct xp_out out;

    xp_out_init(&out, -1, stats.buffer, sizeof(stats.buffer));
    print_text(&out, &stats.figures);
    xp_message_lines(stats.buffer, out.length);
}

void xp_stats_write(void)
{
    uint64_t form = xp_option(XP_OPTION_STATS);

    if (form == XP_STATS_NONE ||
        atomic_exchange_explicit(&stats.written, true, memory_order_relaxed))
        return;
    collect(&stats.figures);
    if (form == XP_STATS_TEXT)
        write_message();
    else if (xp_option_text(XP_OPTION_STATS))
        write_file(xp_option_text(XP_OPTION_STATS));
}

void xp_stats_fork_child(void)
{
    xp_draft_forget(&stats.draft);
    if (atomic_load_explicit(&stats.written, memory_order_relaxed))
        atomic_store_explicit(&stats.written, false, memory_order_relaxed);
}
