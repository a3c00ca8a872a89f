/* SPDX-License-Identifier: MIT */
/* options.c - the one table of environment variables, and its reader. */
#include "preload/options.h"

#include <limits.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/message.h"
#include "base/meta.h"
#include "base/os.h"
#include "core/heap.h"
#include "preload/value.h"

/* What the layers of the allocator are called, in the order of the bits of enum xp_layer. */
#define LAYERS "mag|batch|adopt|cut|populate|purge|hugecache|runcache"
_Static_assert(XP_LAYER_MAG == 1 && XP_LAYER_PURGE == 1 << 5 && XP_LAYER_RUNCACHE == 1 << 7 &&
                   XP_LAYERS_ALL == (1 << 8) - 1,
               "one word of LAYERS per bit");
_Static_assert(XP_THP_SYSTEM == 0 && XP_THP_ALWAYS == 1 && XP_THP_NEVER == 2, "words of XPROF_THP");
_Static_assert(XP_PURGE_NEVER == XP_VALUE_WORD, "never");

#define TEXT             .kind = XP_VALUE_TEXT
#define FLAG             .kind = XP_VALUE_FLAG
#define SIZE(low, high)  .kind = XP_VALUE_SIZE, .least = (low), .most = (high)
#define COUNT(low, high) .kind = XP_VALUE_COUNT, .least = (low), .most = (high)
#define CHOICE(list)     .kind = XP_VALUE_CHOICE, .words = (list)
#define OR(word)         .words = (word) /* a number, or the word for more than any */

struct variable {
    const char *name;
    struct xp_value_type type;
    uint64_t preset;
    const char *help;
    const char *alias; /* another name for the same, of less weight; or NULL */
    struct xp_value_type alias_type;
};

static const struct variable table[XP_OPTIONS] = {
    [XP_OPTION_PREFIX] = {.name = "HEAPPROFILE",
                          .type = {TEXT},
                          .help = "write dumps named PREFIX.0001.heap, PREFIX.0002.heap, ..."},
    [XP_OPTION_USE_PID] = {.name = "HEAPPROFILE_USE_PID",
                           .type = {FLAG},
                           .help = "put the process number into the names, as in children"},
    [XP_OPTION_ALLOC_INTERVAL] = {.name = "HEAP_PROFILE_ALLOCATION_INTERVAL",
                                  .type = {SIZE(0, 1ull << 60)},
                                  .preset = 1ull << 30,
                                  .help = "dump each time so many bytes were allocated; 0: never"},
    [XP_OPTION_DEALLOC_INTERVAL] = {.name = "HEAP_PROFILE_DEALLOCATION_INTERVAL",
                                    .type = {SIZE(0, 1ull << 60)},
                                    .help = "dump each time so many bytes were freed; 0: never"},
    [XP_OPTION_INUSE_INTERVAL] =
        {.name = "HEAP_PROFILE_INUSE_INTERVAL",
         .type = {SIZE(0, 1ull << 60)},
         .preset = 100ull << 20,
         .help = "dump when the bytes in use passed their last peak by so many; 0: never"},
    [XP_OPTION_TIME_INTERVAL] = {.name = "HEAP_PROFILE_TIME_INTERVAL",
                                 .type = {COUNT(0, 1u << 30)},
                                 .help = "dump so often, in seconds; 0: never"},
    [XP_OPTION_SIGNAL] = {.name = "HEAPPROFILESIGNAL",
                          .type = {COUNT(0, 64)},
                          .help = "dump when this signal arrives; 0: none"},
    [XP_OPTION_CLEANUP] = {.name = "HEAP_PROFILE_CLEANUP",
                           .type = {FLAG},
                           .help = "remove dumps under the prefix whose process has ended"},
    [XP_OPTION_MMAP] = {.name = "HEAP_PROFILE_MMAP",
                        .type = {FLAG},
                        .help = "not supported: mmap calls are not profiled"},
    [XP_OPTION_ONLY_MMAP] = {.name = "HEAP_PROFILE_ONLY_MMAP",
                             .type = {FLAG},
                             .help = "not supported: mmap calls are not profiled"},
    [XP_OPTION_MMAP_LOG] = {.name = "HEAP_PROFILE_MMAP_LOG",
                            .type = {FLAG},
                            .help = "not supported: mmap calls are not profiled"},
    [XP_OPTION_VERBOSE] = {.name = "PERFTOOLS_VERBOSE",
                           .type = {.kind = XP_VALUE_SIGNED, .least = INT_MIN, .most = INT_MAX},
                           .help = "below 0: print nothing"},
    [XP_OPTION_SAMPLE_BYTES] = {.name = "XPROF_SAMPLE_BYTES",
                                .type = {SIZE(0, 1ull << 40)},
                                .preset = 524288,
                                .help = "mean distance of samples; 1: every allocation; 0: off",
                                .alias = "TCMALLOC_SAMPLE_PARAMETER",
                                .alias_type = {SIZE(0, 1ull << 40)}},
    [XP_OPTION_DEPTH] = {.name = "XPROF_DEPTH",
                         .type = {COUNT(1, 1024)},
                         .preset = 128,
                         .help = "most frames of a stack"},
    [XP_OPTION_STACKS_MAX] = {.name = "XPROF_STACKS_MAX",
                              .type = {COUNT(1024, (1u << 24) - 1)},
                              .preset = 8u << 20,
                              .help = "most nodes of the call tree"},
    [XP_OPTION_UNWINDER] = {.name = "XPROF_UNWINDER",
                            .type = {CHOICE("own|libunwind")},
                            .help = "what takes the stacks"},
    [XP_OPTION_VERIFY] = {.name = "XPROF_VERIFY",
                          .type = {COUNT(0, UINT32_MAX)},
                          .help = "compare every N-th stack with libunwind's; 0: none"},
    [XP_OPTION_SEED] = {.name = "XPROF_SEED",
                        .type = {COUNT(0, UINT64_MAX)},
                        .help = "fixes the random choice of samples; 0: another one each run"},
    [XP_OPTION_LOG] = {.name = "XPROF_LOG",
                       .type = {TEXT},
                       .help =
                           "append messages to this file, those of children too, not to stderr"},
    [XP_OPTION_STRICT] = {.name = "XPROF_STRICT",
                          .type = {FLAG},
                          .help = "abort on a double or invalid free"},
    [XP_OPTION_DUMP_ON_EXEC] = {.name = "XPROF_DUMP_ON_EXEC",
                                .type = {FLAG},
                                .help = "dump before the program is replaced by exec"},
    [XP_OPTION_RESERVE] = {.name = "XPROF_RESERVE",
                           .type = {SIZE(0, 1ull << 46)},
                           .help = "address space to set aside first; 0: as much as can be had"},
    [XP_OPTION_CACHE_MAX] = {.name = "XPROF_CACHE_MAX",
                             .type = {SIZE(0, 1ull << 46), OR("unlimited")},
                             .preset = XP_VALUE_WORD,
                             .help = "free blocks kept in the caches of all threads together",
                             .alias = "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
                             .alias_type = {SIZE(0, 1ull << 46)}},
    [XP_OPTION_PURGE_DELAY] = {.name = "XPROF_PURGE_DELAY_MS",
                               .type = {COUNT(0, 1u << 30), OR("never")},
                               .preset = 100,
                               .help =
                                   "age at which free memory goes back to the system; 0: at once",
                               .alias = "TCMALLOC_RELEASE_RATE",
                               .alias_type = {.kind = XP_VALUE_RATE, .least = 0, .most = 1000000}},
    [XP_OPTION_DIRTY_MAX] = {.name = "XPROF_DIRTY_MAX",
                             .type = {SIZE(0, 1ull << 46)},
                             .help = "free memory kept at most; 0: 8 MiB or 1/16 of the peak"},
    [XP_OPTION_BG_THREAD] = {.name = "XPROF_BG_THREAD",
                             .type = {FLAG},
                             .help =
                                 "a thread gives free memory back, also while the program is idle"},
    [XP_OPTION_THP] = {.name = "XPROF_THP",
                       .type = {CHOICE("system|always|never")},
                       .help = "transparent huge pages for the heap"},
    [XP_OPTION_HEAP_LIMIT] = {.name = "XPROF_HEAP_LIMIT",
                              .type = {SIZE(0, 1ull << 46)},
                              .help =
                                  "malloc fails rather than let the heap grow beyond; 0: no limit",
                              .alias = "TCMALLOC_HEAP_LIMIT_MB",
                              .alias_type = {.kind = XP_VALUE_MIB, .least = 0, .most = 1u << 26}},
    [XP_OPTION_LARGE_REPORT] =
        {.name = "XPROF_LARGE_REPORT",
         .type = {SIZE(0, 1ull << 60)},
         .help = "say where so large a block was asked for; grows with each report; 0: never",
         .alias = "TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD",
         .alias_type = {.kind = XP_VALUE_ABOVE}},
    [XP_OPTION_LAYERS] = {.name = "XPROF_LAYERS",
                          .type = {.kind = XP_VALUE_LESS, .words = LAYERS},
                          .preset = XP_LAYERS_ALL,
                          .help = "for measurements: parts of the allocator to do without"},
    [XP_OPTION_STATS] = {.name = "XPROF_STATS",
                         .type = {.kind = XP_VALUE_STATS},
                         .help = "counters at the end, as a text (1) or to a file"},
    [XP_OPTION_FAULT] = {.name = "XPROF_FAULT",
                         .type = {TEXT},
                         .help =
                             "for tests, N[:MASK[:ERRNO]]: every N-th system call of ours fails"},
    [XP_OPTION_PROCESS] = {.name = "XPROF_PROCESS",
                           .type = {COUNT(0, INT_MAX)},
                           .help =
                               "set by the library itself: the process that owns the plain names"},
};

#define COMPLAINTS_MAX 8

enum { SET_BY_ALIAS = 1, SET_BY_NAME = 2 };

static struct {
    uint64_t number[XP_OPTIONS];
    const char *text[XP_OPTIONS]; /* in meta memory; of options with a text in them */
    uint8_t set[XP_OPTIONS];      /* by whom; both may be */
    bool setuid_ignored;          /* HEAPPROFILE was set and may not be heard */
    /* What xp_options_complain() has to say: values as they were given. */
    struct {
        const struct variable *variable; /* NULL: a name of ours that is in no table */
        bool alias;
        const char *text;
    } complaint[COMPLAINTS_MAX];
    unsigned complaints;
} options;

static const char *keep_text(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = xp_meta_alloc(size, 1);
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static void complain(const struct variable *variable, bool alias, const char *text)
{
    if (options.complaints < COMPLAINTS_MAX && (text = keep_text(text)) != NULL) {
        options.complaint[options.complaints].variable = variable;
        options.complaint[options.complaints].alias = alias;
        options.complaint[options.complaints].text = text;
        options.complaints++;
    }
}

/* The value in NAME=VALUE, or NULL when it is another name. */
static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static void set(int i, bool alias, const char *text)
{
    const struct variable *v = &table[i];
    uint8_t by = alias ? SET_BY_ALIAS : SET_BY_NAME;
    uint64_t number;

    /* NAME= is how people unset a variable for one command; the first of two counts. */
    if (*text == 0 || (options.set[i] & by))
        return;
    if (!xp_value_parse(alias ? &v->alias_type : &v->type, text, &number)) {
        complain(v, alias, text);
        return;
    }
    bool weaker = options.set[i] > by;
    options.set[i] |= by;
    if (weaker)
        return;
    options.number[i] = number;
    if (v->type.kind == XP_VALUE_TEXT)
        options.text[i] = keep_text(text);
    else if (v->type.kind == XP_VALUE_STATS && number == XP_STATS_JSON)
        options.text[i] = keep_text(xp_value_stats_file(text));
}

static void read_entry(const char *entry)
{
    for (int i = 0; i < XP_OPTIONS; i++) {
        const char *text = value_of(entry, table[i].name);
        if (text) {
            set(i, false, text);
            return;
        }
        if (table[i].alias && (text = value_of(entry, table[i].alias)) != NULL) {
            set(i, true, text);
            return;
        }
    }
    if (strncmp(entry, "XPROF_", 6) == 0 || strncmp(entry, "HEAP_PROFILE_", 13) == 0 ||
        strncmp(entry, "HEAPPROFILE", 11) == 0)
        complain(NULL, false, entry);
}

/* Nearly every entry is none of ours: one look at its first letters. */
static bool may_be_ours(const char *entry)
{
    return (entry[0] == 'H' && entry[1] == 'E') || (entry[0] == 'X' && entry[1] == 'P') ||
           (entry[0] == 'P' && entry[1] == 'E') || (entry[0] == 'T' && entry[1] == 'C');
}

static void read_proc_environ(void)
{
    for (size_t size = 256u << 10; size <= (8u << 20); size *= 4) {
        char *buffer = xp_meta_map(size);
        if (!buffer)
            return;
        ssize_t got = xp_os_read_file("/proc/self/environ", buffer, size - 1);
        bool whole = got >= 0 && (size_t)got < size - 1;
        for (ssize_t at = 0; whole && at < got; at += (ssize_t)strlen(buffer + at) + 1) {
            if (may_be_ours(buffer + at))
                read_entry(buffer + at);
        }
        xp_meta_unmap(buffer, size);
        if (whole || got < 0)
            return;
    }
}

void xp_options_init(void)
{
    for (int i = 0; i < XP_OPTIONS; i++)
        options.number[i] = table[i].preset;

    if (getauxval(AT_SECURE)) {
        for (char **entry = environ; entry && *entry; entry++) {
            if (value_of(*entry, table[XP_OPTION_PREFIX].name))
                options.setuid_ignored = true;
        }
        return;
    }
    if (!environ) {
        read_proc_environ();
        return;
    }
    for (char **entry = environ; *entry; entry++) {
        if (may_be_ours(*entry))
            read_entry(*entry);
    }
}

void xp_options_mark_environment(pid_t pid)
{
    static char mark[32];
    struct xp_out out;
    size_t count = 0;

    xp_out_init(&out, -1, mark, sizeof(mark) - 1);
    xp_out_text(&out, table[XP_OPTION_PROCESS].name);
    xp_out_char(&out, '=');
    xp_out_signed(&out, pid, 0);
    while (environ && environ[count])
        count++;
    /* In memory of our own: setenv() would allocate from the program's heap. At the end, because
     * programs that overwrite their arguments (setproctitle) take the strings of environ for one
     * stretch as far as they are. */
    char **entries = xp_meta_alloc((count + 2) * sizeof(*entries), sizeof(*entries));
    if (!entries)
        return;
    if (count > 0)
        memcpy(entries, environ, count * sizeof(*entries));
    entries[count] = mark;
    environ = entries;
}

static void say_unreadable(const struct variable *v, bool alias, const char *text)
{
    struct xp_message m;

    xp_message_begin(&m);
    xp_out_text(&m.out, "libxprof: ");
    if (v) {
        xp_out_text(&m.out, alias ? v->alias : v->name);
        xp_out_text(&m.out, "='");
        xp_out_escaped(&m.out, text, strnlen(text, 200));
        xp_out_text(&m.out, "' is not ");
        xp_value_print_type(&m.out, alias ? &v->alias_type : &v->type);
        if (alias) {
            xp_out_text(&m.out, "; using ");
            xp_out_text(&m.out, v->name);
            xp_out_char(&m.out, '=');
        } else {
            xp_out_text(&m.out, "; using ");
        }
        xp_value_print(&m.out, &v->type, options.number[v - table]);
    } else {
        const char *equals = strchr(text, '=');
        xp_out_escaped(&m.out, text, equals ? (size_t)(equals - text) : strnlen(text, 200));
        xp_out_text(&m.out, " is not a variable of this library (see libxprof(7)); ignored");
    }
    xp_message_end(&m);
}

static void say_both(const struct variable *v)
{
    struct xp_message m;

    xp_message_begin(&m);
    xp_out_text(&m.out, "libxprof: ");
    xp_out_text(&m.out, v->name);
    xp_out_text(&m.out, " and ");
    xp_out_text(&m.out, v->alias);
    xp_out_text(&m.out, " are both set; using ");
    xp_out_text(&m.out, v->name);
    xp_out_char(&m.out, '=');
    xp_value_print(&m.out, &v->type, options.number[v - table]);
    xp_message_end(&m);
}

void xp_options_complain(void)
{
    if (options.setuid_ignored)
        xp_message_text("HeapProfiler: ignoring HEAPPROFILE because program seems to be setuid");
    for (unsigned i = 0; i < options.complaints; i++)
        say_unreadable(options.complaint[i].variable, options.complaint[i].alias,
                       options.complaint[i].text);
    for (int i = 0; i < XP_OPTIONS; i++) {
        if (options.set[i] == (SET_BY_ALIAS | SET_BY_NAME))
            say_both(&table[i]);
    }
    if (options.number[XP_OPTION_MMAP] || options.number[XP_OPTION_ONLY_MMAP] ||
        options.number[XP_OPTION_MMAP_LOG])
        xp_message_text("libxprof: HEAP_PROFILE_MMAP, HEAP_PROFILE_ONLY_MMAP and "
                        "HEAP_PROFILE_MMAP_LOG are not supported: mmap calls are not profiled");
}

uint64_t xp_option(enum xp_option option)
{
    return options.number[option];
}

int64_t xp_option_signed(enum xp_option option)
{
    return (int64_t)options.number[option];
}

const char *xp_option_text(enum xp_option option)
{
    return options.text[option];
}

bool xp_option_is_set(enum xp_option option)
{
    return options.set[option] != 0;
}

void xp_options_print(struct xp_out *out)
{
    for (int i = 0; i < XP_OPTIONS; i++) {
        const struct variable *v = &table[i];
        xp_out_text(out, v->name);
        xp_out_char(out, '\t');
        xp_value_print(out, &v->type, v->preset);
        xp_out_char(out, '\t');
        xp_value_print_type(out, &v->type);
        xp_out_char(out, '\t');
        xp_out_text(out, v->help);
        if (v->alias) {
            xp_out_text(out, "; also ");
            xp_out_text(out, v->alias);
        }
        xp_out_char(out, '\n');
    }
}
