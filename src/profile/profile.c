/* SPDX-License-Identifier: MIT */
/* profile.c - when a dump is due, and what it is called.
 *
 * All signals of the thread are blocked while it dumps: a handler that allocates, dumps, forks or
 * leaves by siglongjmp would otherwise find the dump lock taken by its own thread. */
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/lock.h"
#include "base/message.h"
#include "base/os.h"
#include "profile/cleanup.h"
#include "profile/dump.h"
#include "profile/failure.h"
#include "profile/publish.h"
#include "profile/sums.h"
#include "profile/trigger.h"

/* At exit another thread's dump is waited for, but not for ever: its disk may hang. */
#define EXIT_WAIT_NS 10000000000ull

static struct {
    struct xp_lock lock;               /* guards all below but the atomics: one dump at a time */
    struct xp_profile_options options; /* written by init, use_pid by fork_child, too */
    uint64_t run;
    uint64_t number;               /* of the next file name */
    uint64_t sequence;             /* of the next dump */
    _Atomic uint64_t last_dump_ns; /* monotonic; time trigger */
    _Atomic bool exit_dumped;
} profile = {.lock = XP_LOCK_INIT(XP_RANK_DUMP), .number = 1, .sequence = 1};

/* The dump in work; the lock guards it, too. */
static struct {
    struct xp_draft draft;
    char name[XP_PATH_MAX];
    char reason[256];
} work XP_BULK = {.draft = {.fd = -1}};

static uint64_t new_run(void)
{
    uint64_t run;

    if (xp_os_random(&run, sizeof(run)) < 0)
        run = xp_hash_add(xp_os_realtime_ns(), (uint64_t)xp_os_getpid());
    return run;
}

int xp_profile_init(const struct xp_profile_options *options)
{
    profile.options = *options;
    profile.run = new_run();
    atomic_store_explicit(&profile.last_dump_ns, xp_os_now_ns(), memory_order_relaxed);
    if (!options->prefix)
        return 0;
    xp_trigger_init(options->alloc_interval, options->inuse_interval, options->dealloc_interval);
    if (options->cleanup)
        xp_cleanup(options->prefix);
    xp_message_text("Starting tracking the heap");
    return 0;
}

void xp_profile_note_alloc(const struct xp_record *record)
{
    double bytes = record->weight * (double)record->size;

    xp_sums_add(record->node, record->row_class, record->weight, bytes);
    xp_trigger_note_alloc(record->weight, bytes);
}

void xp_profile_note_free(const struct xp_record *record)
{
    /* What was added when it was made: a program that shrinks each block in place would otherwise
     * seem to hold more and more. */
    double bytes = (double)((int64_t)record->size - record->resized);

    xp_trigger_note_free(record->weight, record->weight * bytes);
}

void xp_profile_totals_get(struct xp_profile_totals *ret_totals)
{
    xp_trigger_totals(ret_totals);
}

/* ---- writing ---- */

static int write_locked(int fd, const char *reason)
{
    const struct xp_facts facts = {
        .run = profile.run,
        .start_time_ns = profile.options.start_time_ns,
        .sequence = profile.sequence++,
        .command = profile.options.command,
        .unwinder = profile.options.unwinder ? profile.options.unwinder : "cfi",
        .reason = reason,
    };

    return xp_dump_write(fd, &facts, profile.options.seed);
}

static void say_dumped(const char *reason)
{
    struct xp_message m;

    xp_message_begin(&m);
    xp_out_text(&m.out, "Dumping heap profile to ");
    xp_out_escaped(&m.out, work.name, strlen(work.name));
    xp_out_text(&m.out, " (");
    xp_out_escaped(&m.out, reason, strlen(reason));
    xp_out_char(&m.out, ')');
    xp_message_end(&m);
}

static int dump_locked(const char *reason)
{
    const char *prefix = profile.options.prefix;
    pid_t pid = profile.options.use_pid ? xp_os_getpid() : 0;

    int r = xp_publish_name(prefix, pid, profile.number, work.name, sizeof(work.name));
    if (r == 0)
        r = xp_draft_open(&work.draft, prefix);
    if (r == 0)
        r = write_locked(atomic_load_explicit(&work.draft.fd, memory_order_relaxed), reason);
    if (r == 0)
        r = xp_draft_publish(&work.draft, prefix, pid, &profile.number, work.name,
                             sizeof(work.name));
    xp_draft_drop(&work.draft);
    if (r < 0) {
        xp_failure_report(work.name, r);
        return r;
    }
    xp_failure_forget();
    say_dumped(reason);
    return 0;
}

int xp_profile_dump(const char *reason, char *ret_path, size_t path_size)
{
    uint64_t signals;

    if (!profile.options.prefix)
        return -ENOENT;
    xp_lock_take_masked(&profile.lock, &signals);
    int r = dump_locked(reason);
    if (r == 0 && ret_path && path_size > 0) {
        size_t length = strlen(work.name);
        if (length >= path_size)
            length = path_size - 1;
        memcpy(ret_path, work.name, length);
        ret_path[length] = 0;
    }
    xp_lock_give_restore(&profile.lock, &signals);
    return r;
}

int xp_profile_write(int fd, const char *reason)
{
    uint64_t signals;

    xp_lock_take_masked(&profile.lock, &signals);
    int r = write_locked(fd, reason);
    xp_lock_give_restore(&profile.lock, &signals);
    return r;
}

/* ---- triggers ---- */

bool xp_profile_dump_due(void)
{
    return xp_trigger_due();
}

/* The reason of a dump, built in work.reason: begin, write, end. */
static struct xp_out reason_begin_locked(void)
{
    struct xp_out out;

    xp_out_init(&out, -1, work.reason, sizeof(work.reason) - 1);
    return out;
}

static void reason_end_locked(const struct xp_out *out)
{
    work.reason[out->length] = 0;
}

void xp_profile_dump_if_due(void)
{
    uint64_t signals;

    if (!xp_trigger_due())
        return;
    xp_os_block_signals(&signals);
    /* Whoever dumps now takes in what made this one due; if more comes, it will be due again. */
    if (xp_lock_try(&profile.lock)) {
        struct xp_out out = reason_begin_locked();
        if (xp_trigger_take(&out)) {
            reason_end_locked(&out);
            atomic_store_explicit(&profile.last_dump_ns, xp_os_now_ns(), memory_order_relaxed);
            dump_locked(work.reason);
        }
        xp_lock_give(&profile.lock);
    }
    xp_os_restore_signals(&signals);
}

uint64_t xp_profile_tick(void)
{
    uint64_t interval = profile.options.time_interval_ns;
    uint64_t now = xp_os_now_ns(), signals;

    if (!profile.options.prefix || interval == 0)
        return UINT64_MAX;
    uint64_t last = atomic_load_explicit(&profile.last_dump_ns, memory_order_relaxed);
    if (now - last < interval)
        return interval - (now - last);

    xp_lock_take_masked(&profile.lock, &signals);
    struct xp_out out = reason_begin_locked();
    xp_out_unsigned(&out, (now - last) / 1000000000, 0);
    xp_out_text(&out, " sec since the last dump");
    reason_end_locked(&out);
    atomic_store_explicit(&profile.last_dump_ns, now, memory_order_relaxed);
    dump_locked(work.reason);
    xp_lock_give_restore(&profile.lock, &signals);
    return interval;
}

static void exit_reason(struct xp_out *out)
{
    struct xp_profile_totals t;
    static const char *const units[] = {"bytes", "kB", "MB"};
    unsigned unit = 0;

    xp_trigger_totals(&t);
    int64_t inuse = t.alloc_bytes > t.free_bytes ? (int64_t)(t.alloc_bytes - t.free_bytes) : 0;
    while (unit < 2 && inuse >> 10 > 0) {
        inuse >>= 10;
        unit++;
    }
    xp_out_text(out, "Exiting, ");
    xp_out_signed(out, inuse, 0);
    xp_out_char(out, ' ');
    xp_out_text(out, units[unit]);
    xp_out_text(out, " in use");
}

void xp_profile_dump_at_exit(void)
{
    uint64_t signals;

    if (!profile.options.prefix ||
        atomic_exchange_explicit(&profile.exit_dumped, true, memory_order_relaxed))
        return;
    xp_os_block_signals(&signals);
    if (xp_lock_take_bounded(&profile.lock, EXIT_WAIT_NS) == 0) {
        struct xp_out out = reason_begin_locked();
        exit_reason(&out);
        reason_end_locked(&out);
        dump_locked(work.reason);
        xp_lock_give(&profile.lock);
    }
    xp_os_restore_signals(&signals);
}

/* ---- fork ---- */

/* Nothing was held across the fork: sums are whole at any moment, and a dump that another thread
 * was writing stays the parent's. */
void xp_profile_fork_child(void)
{
    xp_sums_fork_child();
    xp_lock_reset(&profile.lock);
    xp_draft_forget(&work.draft);
    profile.run = new_run();
    profile.number = 1;
    profile.sequence = 1;
    profile.options.use_pid = true;
    atomic_store_explicit(&profile.last_dump_ns, xp_os_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&profile.exit_dumped, false, memory_order_relaxed);
}
