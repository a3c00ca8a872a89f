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

enum kind {
    KIND_TEXT,
    KIND_FLAG,
    KIND_SIZE,   /* bytes; k, M, G, T are powers of 1024 */
    KIND_COUNT,  /* a whole number */
    KIND_SIGNED, /* a whole number, kept as two's complement */
    KIND_CHOICE, /* one of the words in .words, by index */
};

struct variable {
    const char *name;
    const char *alias; /* another name for the same, of less weight; or NULL */
    enum kind kind;
    uint64_t preset, least, most;
    const char *words; /* of a choice, separated by | */
    const char *help;
};

static const struct variable table[XP_OPTIONS] = {
    [XP_OPTION_PREFIX] = {"HEAPPROFILE", NULL, KIND_TEXT, 0, 0, 0, NULL,
                          "write dumps named PREFIX.0001.heap, PREFIX.0002.heap, ..."},
    [XP_OPTION_USE_PID] = {"HEAPPROFILE_USE_PID", NULL, KIND_FLAG, 0, 0, 1, NULL,
                           "put the process number into the names, as in children"},
    [XP_OPTION_ALLOC_INTERVAL] = {"HEAP_PROFILE_ALLOCATION_INTERVAL", NULL, KIND_SIZE, 1ull << 30,
                                  0, 1ull << 60, NULL,
                                  "dump each time so many bytes were allocated; 0: never"},
    [XP_OPTION_DEALLOC_INTERVAL] = {"HEAP_PROFILE_DEALLOCATION_INTERVAL", NULL, KIND_SIZE, 0, 0,
                                    1ull << 60, NULL,
                                    "dump each time so many bytes were freed; 0: never"},
    [XP_OPTION_INUSE_INTERVAL] = {"HEAP_PROFILE_INUSE_INTERVAL", NULL, KIND_SIZE, 100ull << 20, 0,
                                  1ull << 60, NULL,
                                  "dump when the bytes in use passed their last peak by so many; "
                                  "0: never"},
    [XP_OPTION_TIME_INTERVAL] = {"HEAP_PROFILE_TIME_INTERVAL", NULL, KIND_COUNT, 0, 0, 1u << 30,
                                 NULL, "dump so often, in seconds; 0: never"},
    [XP_OPTION_SIGNAL] = {"HEAPPROFILESIGNAL", NULL, KIND_COUNT, 0, 0, 64, NULL,
                          "dump when this signal arrives; 0: none"},
    [XP_OPTION_CLEANUP] = {"HEAP_PROFILE_CLEANUP", NULL, KIND_FLAG, 0, 0, 1, NULL,
                           "remove dumps under the prefix whose process has ended"},
    [XP_OPTION_MMAP] = {"HEAP_PROFILE_MMAP", NULL, KIND_FLAG, 0, 0, 1, NULL,
                        "not supported: mmap calls are not profiled"},
    [XP_OPTION_ONLY_MMAP] = {"HEAP_PROFILE_ONLY_MMAP", NULL, KIND_FLAG, 0, 0, 1, NULL,
                             "not supported: mmap calls are not profiled"},
    [XP_OPTION_MMAP_LOG] = {"HEAP_PROFILE_MMAP_LOG", NULL, KIND_FLAG, 0, 0, 1, NULL,
                            "not supported: mmap calls are not profiled"},
    [XP_OPTION_VERBOSE] = {"PERFTOOLS_VERBOSE", NULL, KIND_SIGNED, 0, INT_MIN, INT_MAX, NULL,
                           "below 0: print nothing"},
    [XP_OPTION_SAMPLE_BYTES] = {"XPROF_SAMPLE_BYTES", "TCMALLOC_SAMPLE_PARAMETER", KIND_SIZE,
                                524288, 0, 1ull << 40, NULL,
                                "mean distance of samples; 1: every allocation; 0: off"},
    [XP_OPTION_DEPTH] = {"XPROF_DEPTH", NULL, KIND_COUNT, 128, 1, 1024, NULL,
                         "most frames of a stack"},
    [XP_OPTION_STACKS_MAX] = {"XPROF_STACKS_MAX", NULL, KIND_COUNT, 8u << 20, 1024, (1u << 24) - 1,
                              NULL, "most nodes of the call tree"},
    [XP_OPTION_UNWINDER] = {"XPROF_UNWINDER", NULL, KIND_CHOICE, 0, 0, 1, "own|libunwind",
                            "what takes the stacks"},
    [XP_OPTION_VERIFY] = {"XPROF_VERIFY", NULL, KIND_COUNT, 0, 0, UINT32_MAX, NULL,
                          "compare every N-th stack with libunwind's; 0: none"},
    [XP_OPTION_SEED] = {"XPROF_SEED", NULL, KIND_COUNT, 0, 0, UINT64_MAX, NULL,
                        "fixes the random choice of samples; 0: another one each run"},
    [XP_OPTION_LOG] = {"XPROF_LOG", NULL, KIND_TEXT, 0, 0, 0, NULL,
                       "append messages to this file, those of children too, not to stderr"},
    [XP_OPTION_STRICT] = {"XPROF_STRICT", NULL, KIND_FLAG, 0, 0, 1, NULL,
                          "abort on a double or invalid free"},
    [XP_OPTION_DUMP_ON_EXEC] = {"XPROF_DUMP_ON_EXEC", NULL, KIND_FLAG, 0, 0, 1, NULL,
                                "dump before the program is replaced by exec"},
    [XP_OPTION_RESERVE] = {"XPROF_RESERVE", NULL, KIND_SIZE, 0, 0, 1ull << 46, NULL,
                           "address space to set aside first; 0: as much as can be had"},
    [XP_OPTION_PURGE_DELAY] = {"XPROF_PURGE_DELAY_MS", NULL, KIND_COUNT, 100, 0, 1u << 30, NULL,
                               "age at which free memory goes back to the system"},
    [XP_OPTION_DIRTY_MAX] = {"XPROF_DIRTY_MAX", NULL, KIND_SIZE, 0, 0, 1ull << 46, NULL,
                             "free memory kept at most; 0: 8 MiB or 1/16 of the peak"},
    [XP_OPTION_FAULT] = {"XPROF_FAULT", NULL, KIND_TEXT, 0, 0, 0, NULL,
                         "for tests, N[:MASK[:ERRNO]]: every N-th system call of ours fails"},
    [XP_OPTION_PROCESS] = {"XPROF_PROCESS", NULL, KIND_COUNT, 0, 0, INT_MAX, NULL,
                           "set by the library itself: the process that owns the plain names"},
};

#define COMPLAINTS_MAX 8

static struct {
    uint64_t number[XP_OPTIONS];
    const char *text[XP_OPTIONS]; /* in meta memory; of KIND_TEXT */
    uint8_t set[XP_OPTIONS];      /* by nobody, by the alias, by the name */
    bool setuid_ignored;          /* HEAPPROFILE was set and may not be heard */
    /* What xp_options_complain() has to say: values as they were given. */
    struct {
        const struct variable *variable; /* NULL: a name of ours that is in no table */
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

static void complain(const struct variable *variable, const char *text)
{
    if (options.complaints < COMPLAINTS_MAX && (text = keep_text(text)) != NULL) {
        options.complaint[options.complaints].variable = variable;
        options.complaint[options.complaints].text = text;
        options.complaints++;
    }
}

static bool parse_digits(const char **text, uint64_t *ret_value)
{
    const char *at = *text;
    uint64_t value = 0;

    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
            return false;
    }
    *text = at;
    *ret_value = value;
    return true;
}

static bool parse_size(const char *text, uint64_t *ret_value)
{
    static const char units[] = "kmgt";
    uint64_t value;

    if (!parse_digits(&text, &value))
        return false;
    if (*text) {
        const char *unit = strchr(units, *text | 0x20);
        if (!unit || __builtin_mul_overflow(value, 1ull << (10 * (unit - units + 1)), &value))
            return false;
        text++;
        /* k, kB and KiB are all 1024 here, as memory is counted. */
        if (*text == 'i')
            text++;
        if (*text == 'B' || *text == 'b')
            text++;
    }
    *ret_value = value;
    return *text == 0;
}

static bool parse_word(const char *text, const char *words, uint64_t *ret_value)
{
    size_t length = strlen(text);

    for (uint64_t index = 0;; index++) {
        const char *end = strchr(words, '|');
        size_t size = end ? (size_t)(end - words) : strlen(words);
        if (size == length && memcmp(words, text, size) == 0) {
            *ret_value = index;
            return true;
        }
        if (!end)
            return false;
        words = end + 1;
    }
}

static bool parse_signed(const char *text, const struct variable *v, uint64_t *ret_value)
{
    bool negative = *text == '-';
    uint64_t value;

    text += negative;
    if (!parse_digits(&text, &value) || *text || value > INT_MAX)
        return false;
    int64_t number = negative ? -(int64_t)value : (int64_t)value;
    *ret_value = (uint64_t)number;
    return number >= (int64_t)v->least && number <= (int64_t)v->most;
}

static bool parse(const struct variable *v, const char *text, uint64_t *ret_value)
{
    uint64_t value = 0;
    bool ok = false;

    switch (v->kind) {
    case KIND_TEXT:
        return true;
    case KIND_SIGNED:
        return parse_signed(text, v, ret_value);
    case KIND_FLAG:
        ok = parse_word(text, "0|1", &value) || parse_word(text, "false|true", &value) ||
             parse_word(text, "no|yes", &value) || parse_word(text, "off|on", &value) ||
             parse_word(text, "f|t", &value) || parse_word(text, "n|y", &value);
        break;
    case KIND_SIZE:
        ok = parse_size(text, &value);
        break;
    case KIND_COUNT:
        ok = parse_digits(&text, &value) && *text == 0;
        break;
    case KIND_CHOICE:
        ok = parse_word(text, v->words, &value);
        break;
    }
    if (!ok || value < v->least || value > v->most)
        return false;
    *ret_value = value;
    return true;
}

/* The value in NAME=VALUE, or NULL when it is another name. */
static const char *value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

static void read_entry(const char *entry)
{
    for (int i = 0; i < XP_OPTIONS; i++) {
        const struct variable *v = &table[i];
        const char *value = value_of(entry, v->name);
        uint8_t rank = 2;
        if (!value && v->alias) {
            value = value_of(entry, v->alias);
            rank = 1;
        }
        if (!value)
            continue;
        /* NAME= is how people unset a variable for one command; the first of two counts. */
        if (*value == 0 || options.set[i] >= rank)
            return;
        if (!parse(v, value, &options.number[i])) {
            complain(v, value);
        } else {
            options.set[i] = rank;
            if (v->kind == KIND_TEXT)
                options.text[i] = keep_text(value);
        }
        return;
    }
    if (strncmp(entry, "XPROF_", 6) == 0 || strncmp(entry, "HEAP_PROFILE_", 13) == 0 ||
        strncmp(entry, "HEAPPROFILE", 11) == 0)
        complain(NULL, entry);
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

static void print_accepted(struct xp_out *out, const struct variable *v)
{
    switch (v->kind) {
    case KIND_TEXT:
        xp_out_text(out, "a text");
        return;
    case KIND_FLAG:
        xp_out_text(out, "0 or 1");
        return;
    case KIND_CHOICE:
        for (const char *word = v->words; *word; word++) {
            if (*word == '|')
                xp_out_text(out, " or ");
            else
                xp_out_char(out, *word);
        }
        return;
    case KIND_SIGNED:
        xp_out_text(out, "a whole number");
        return;
    case KIND_SIZE:
        xp_out_text(out, "a size in bytes (k, M, G may follow) from ");
        break;
    case KIND_COUNT:
        xp_out_text(out, "a whole number from ");
        break;
    }
    xp_out_unsigned(out, v->least, 0);
    xp_out_text(out, " to ");
    xp_out_unsigned(out, v->most, 0);
}

static void print_preset(struct xp_out *out, const struct variable *v)
{
    if (v->kind == KIND_TEXT) {
        xp_out_text(out, "unset");
    } else if (v->kind == KIND_CHOICE) {
        const char *end = strchr(v->words, '|');
        xp_out_bytes(out, v->words, (size_t)(end - v->words)); /* all presets are the first word */
    } else {
        xp_out_unsigned(out, v->preset, 0);
    }
}

void xp_options_complain(void)
{
    struct xp_message m;

    if (options.setuid_ignored)
        xp_message_text("HeapProfiler: ignoring HEAPPROFILE because program seems to be setuid");
    for (unsigned i = 0; i < options.complaints; i++) {
        const struct variable *v = options.complaint[i].variable;
        const char *text = options.complaint[i].text;
        xp_message_begin(&m);
        xp_out_text(&m.out, "libxprof: ");
        if (v) {
            xp_out_text(&m.out, v->name);
            xp_out_text(&m.out, "='");
            xp_out_escaped(&m.out, text, strnlen(text, 200));
            xp_out_text(&m.out, "' is not ");
            print_accepted(&m.out, v);
            xp_out_text(&m.out, "; using ");
            print_preset(&m.out, v);
        } else {
            const char *equals = strchr(text, '=');
            xp_out_escaped(&m.out, text, equals ? (size_t)(equals - text) : strnlen(text, 200));
            xp_out_text(&m.out, " is not a variable of this library (see libxprof(7)); ignored");
        }
        xp_message_end(&m);
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
        xp_out_text(out, table[i].name);
        xp_out_char(out, '\t');
        print_preset(out, &table[i]);
        xp_out_char(out, '\t');
        print_accepted(out, &table[i]);
        xp_out_char(out, '\t');
        xp_out_text(out, table[i].help);
        xp_out_char(out, '\n');
    }
}
