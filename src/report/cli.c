/* SPDX-License-Identifier: MIT */
/* cli.c - reads the command line by the option table; the table also writes the help text.
 *
 * pprof's and jeprof's habits both hold: one dash or two, -x=v or -x v, -bool=false, --no-bool,
 * and every name may be cut as long as it stays unique. */
#include "report/cli.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    CHOICE,   /* a word of a group: sets an enum to the row's value */
    SWITCH,   /* bool */
    TEXT,     /* const char * */
    TEXTS,    /* struct hr_list, repeatable */
    COUNT,    /* int64_t, 0 and up */
    FRACTION, /* double, 0 to 1 */
    UNIT,     /* enum hr_unit */
    INDEX,    /* enum hr_value by name */
    SYMBOLS,  /* pprof's -symbolize language */
};

struct option {
    const char *name;
    const char *also; /* a second name, or NULL */
    enum kind kind;
    size_t offset;        /* of the field in struct hr_options */
    int value;            /* CHOICE: what the field becomes */
    const char *argument; /* its name in the help; NULL: takes none */
    const char *help;
    const char *group; /* heading before this row; NULL: goes on */
};

#define FIELD(name) offsetof(struct hr_options, name)

/* The order is that of the help text and of heapreport(1). */
static const struct option options[] = {
    {"top", "text", CHOICE, FIELD(report), HR_TOP, NULL, "functions by their own memory (default)",
     "Reports"},
    {"traces", NULL, CHOICE, FIELD(report), HR_TRACES, NULL, "every stack with its memory", NULL},
    {"collapsed", NULL, CHOICE, FIELD(report), HR_COLLAPSED, NULL,
     "one line per stack, for flame graph tools", NULL},
    {"raw", NULL, CHOICE, FIELD(report), HR_RAW, NULL, "samples, locations and mappings as text",
     NULL},

    {"inuse_space", NULL, CHOICE, FIELD(value), HR_INUSE_SPACE, NULL, "bytes in use (default)",
     "Numbers"},
    {"inuse_objects", NULL, CHOICE, FIELD(value), HR_INUSE_OBJECTS, NULL, "blocks in use", NULL},
    {"alloc_space", NULL, CHOICE, FIELD(value), HR_ALLOC_SPACE, NULL,
     "bytes allocated since the start", NULL},
    {"alloc_objects", NULL, CHOICE, FIELD(value), HR_ALLOC_OBJECTS, NULL,
     "blocks allocated since the start", NULL},
    {"sample_index", NULL, INDEX, FIELD(value), 0, "NAME", "one of the four by its name", NULL},
    {"unit", NULL, UNIT, FIELD(unit), 0, "UNIT", "minimum (default), auto, B, kB, MB, GB, TB, PB",
     NULL},

    {"functions", NULL, CHOICE, FIELD(granularity), HR_FUNCTIONS, NULL,
     "one row per function (default)", "Rows"},
    {"lines", NULL, CHOICE, FIELD(granularity), HR_LINES, NULL, "one row per source line", NULL},
    {"addresses", NULL, CHOICE, FIELD(granularity), HR_ADDRESSES, NULL, "one row per address",
     NULL},
    {"cum", NULL, CHOICE, FIELD(cum_sort), true, NULL, "sort by cumulative numbers", NULL},
    {"flat", NULL, CHOICE, FIELD(cum_sort), false, NULL, "sort by own numbers (default)", NULL},
    {"nodecount", NULL, COUNT, FIELD(node_count), 0, "N", "at most N rows (default all)", NULL},
    {"nodefraction", NULL, FRACTION, FIELD(node_fraction), 0, "F",
     "drop rows below this fraction of the total (default 0.005)", NULL},
    {"trim", NULL, SWITCH, FIELD(trim), 0, NULL, "-trim=false: drop no row", NULL},
    {"focus", NULL, TEXT, FIELD(focus), 0, "REGEX",
     "only stacks with a matching function, file or object", NULL},
    {"ignore", NULL, TEXT, FIELD(ignore), 0, "REGEX", "leave out stacks with such a match", NULL},

    {"symbolize", NULL, SYMBOLS, 0, 0, "MODE",
     "none, local (default), fastlocal, force; then :demangle=none, full, templates", "Symbols"},
    {"ignore_build_id", NULL, SWITCH, FIELD(ignore_build_id), 0, NULL,
     "use a file although its build id differs", NULL},
    {"symfs", NULL, TEXT, FIELD(symfs), 0, "DIR", "look for recorded paths below DIR", NULL},
    {"debug_dir", NULL, TEXTS, FIELD(debug_dirs), 0, "DIR",
     "look for debug files here too; may be repeated", NULL},

    {"o", "output", TEXT, FIELD(output), 0, "FILE", "write the report to FILE", "Other"},
    {"version", NULL, SWITCH, FIELD(version), 0, NULL, "print the version", NULL},
    {"help", NULL, SWITCH, FIELD(help), 0, NULL, "print this text", NULL},
};

static const char *const value_names[HR_VALUES] = {
    [HR_ALLOC_OBJECTS] = "alloc_objects",
    [HR_ALLOC_SPACE] = "alloc_space",
    [HR_INUSE_OBJECTS] = "inuse_objects",
    [HR_INUSE_SPACE] = "inuse_space",
};

_Static_assert(sizeof(enum hr_report) == sizeof(int) && sizeof(enum hr_value) == sizeof(int) &&
                   sizeof(enum hr_granularity) == sizeof(int),
               "set_choice() writes enums as ints");

const char *hr_value_name(enum hr_value value)
{
    return value_names[value];
}

static bool has_name(const struct option *option, const char *name, size_t length)
{
    return (strncmp(option->name, name, length) == 0 && !option->name[length]) ||
           (option->also && strncmp(option->also, name, length) == 0 && !option->also[length]);
}

static const struct option *find_exact(const char *name, size_t length)
{
    for (size_t i = 0; i < XP_ARRAY_LENGTH(options); i++)
        if (has_name(&options[i], name, length))
            return &options[i];
    return NULL;
}

/* What pprof has and heapreport has not. */
static bool is_known_to_pprof(const char *name, size_t length)
{
    static const char *const names[] = {
        "base",          "diff_base",
        "normalize",     "http",
        "web",           "weblist",
        "svg",           "png",
        "pdf",           "ps",
        "gif",           "dot",
        "callgrind",     "proto",
        "tree",          "peek",
        "list",          "disasm",
        "show",          "show_from",
        "hide",          "files",
        "noinlines",     "edgefraction",
        "call_tree",     "relative_percentages",
        "drop_negative",
    };

    for (size_t i = 0; i < XP_ARRAY_LENGTH(names); i++)
        if (strncmp(names[i], name, length) == 0 && !names[i][length])
            return true;
    return false;
}

/* The option a name or its unique beginning stands for; *ret_negated for no-NAME and noNAME. */
static int find(const char *name, size_t length, const struct option **ret_option,
                bool *ret_negated, struct hr_error *err)
{
    const struct option *found = find_exact(name, length);
    bool negated = false;

    if (!found && length > 2 && strncmp(name, "no", 2) == 0) {
        size_t skip = name[2] == '-' || name[2] == '_' ? 3 : 2;
        const struct option *positive = find_exact(name + skip, length - skip);

        if (positive && positive->kind == SWITCH) {
            found = positive;
            negated = true;
        }
    }
    for (size_t i = 0; !found && length && i < XP_ARRAY_LENGTH(options); i++) {
        const struct option *option = &options[i];
        bool begins = strncmp(option->name, name, length) == 0 ||
                      (option->also && strncmp(option->also, name, length) == 0);

        if (!begins)
            continue;
        for (size_t k = i + 1; k < XP_ARRAY_LENGTH(options); k++)
            if (strncmp(options[k].name, name, length) == 0 ||
                (options[k].also && strncmp(options[k].also, name, length) == 0))
                return hr_error_set(err, -EINVAL, "", 0,
                                    "-%.*s may mean -%s or -%s; write more of the name",
                                    (int)length, name, option->name, options[k].name);
        found = option;
    }
    if (!found && is_known_to_pprof(name, length))
        return hr_error_set(err, -EINVAL, "", 0,
                            "-%.*s is not supported; pprof has it and reads the same files",
                            (int)length, name);
    if (!found)
        return hr_error_set(err, -EINVAL, "", 0,
                            "unknown option -%.*s; heapreport -help lists the options",
                            (int)(length < 64 ? length : 64), name);
    *ret_option = found;
    *ret_negated = negated;
    return 0;
}

static int bad_value(const struct option *option, const char *text, const char *want,
                     struct hr_error *err)
{
    return hr_error_set(err, -EINVAL, "", 0, "-%s: '%.80s' is not %s", option->name, text, want);
}

static int parse_bool(const struct option *option, const char *text, bool *ret_value,
                      struct hr_error *err)
{
    static const char *const yes[] = {"true", "1", "t", "T", "TRUE", "True", "yes", "on"};
    static const char *const no[] = {"false", "0", "f", "F", "FALSE", "False", "no", "off"};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(yes); i++) {
        if (strcmp(text, yes[i]) == 0) {
            *ret_value = true;
            return 0;
        }
        if (strcmp(text, no[i]) == 0) {
            *ret_value = false;
            return 0;
        }
    }
    return bad_value(option, text, "true or false", err);
}

static int parse_count(const struct option *option, const char *text, int64_t *ret_value,
                       struct hr_error *err)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);

    if (end == text || *end || errno || value < -1)
        return bad_value(option, text, "a number, 0 or more", err);
    *ret_value = value;
    return 0;
}

static int parse_fraction(const struct option *option, const char *text, double *ret_value,
                          struct hr_error *err)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= 0 && value <= 1))
        return bad_value(option, text, "a fraction from 0 to 1", err);
    *ret_value = value;
    return 0;
}

static int parse_index(const struct option *option, const char *text, enum hr_value *ret_value,
                       struct hr_error *err)
{
    for (int i = 0; i < HR_VALUES; i++) {
        const char *name = value_names[i];
        bool is_short = strncmp(name, "inuse_", 6) == 0 && strcmp(text, name + 6) == 0;

        if (strcmp(text, name) == 0 || is_short) {
            *ret_value = (enum hr_value)i;
            return 0;
        }
    }
    return bad_value(option, text, "inuse_space, inuse_objects, alloc_space or alloc_objects", err);
}

/* A word of "local:demangle=full"; pprof also takes the words in any order. */
static int parse_symbols_word(const struct option *option, const char *word, size_t length,
                              struct hr_options *to, struct hr_error *err)
{
    static const struct {
        const char *word;
        int symbols, demangle; /* -1: stays */
    } words[] = {
        {"", -1, -1},
        {"none", HR_SYMBOLS_NONE, -1},
        {"no", HR_SYMBOLS_NONE, -1},
        {"local", HR_SYMBOLS_LOCAL, -1},
        {"fastlocal", HR_SYMBOLS_FAST, -1},
        {"force", HR_SYMBOLS_LOCAL, -1}, /* text profiles have no names to keep */
        {"demangle=none", -1, HR_DEMANGLE_NONE},
        {"demangle=full", -1, HR_DEMANGLE_FULL},
        {"demangle=templates", -1, HR_DEMANGLE_TEMPLATES},
        {"demangle=default", -1, HR_DEMANGLE_SHORT},
    };

    for (size_t i = 0; i < XP_ARRAY_LENGTH(words); i++)
        if (strlen(words[i].word) == length && strncmp(words[i].word, word, length) == 0) {
            if (words[i].symbols >= 0)
                to->symbols = (enum hr_symbols)words[i].symbols;
            if (words[i].demangle >= 0)
                to->demangle = (enum hr_demangle)words[i].demangle;
            return 0;
        }
    return bad_value(option, word,
                     "none, local, fastlocal or force, with :demangle=none, full or templates",
                     err);
}

static int parse_symbols(const struct option *option, const char *text, struct hr_options *to,
                         struct hr_error *err)
{
    for (;;) {
        size_t length = strcspn(text, ":");
        int r = parse_symbols_word(option, text, length, to, err);

        if (r < 0 || !text[length])
            return r;
        text += length + 1;
    }
}

static int list_add(struct hr_list *list, const char *item, struct hr_error *err)
{
    const char **items = reallocarray(list->items, list->count + 1, sizeof(*items));

    if (!items)
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    items[list->count++] = item;
    list->items = items;
    return 0;
}

static void set_choice(const struct option *option, struct hr_options *to)
{
    void *field = (char *)to + option->offset;

    if (option->offset == FIELD(cum_sort))
        *(bool *)field = option->value;
    else
        memcpy(field, &option->value, sizeof(option->value)); /* enums are ints */
}

static int set_option(const struct option *option, const char *text, bool negated,
                      struct hr_options *to, struct hr_error *err)
{
    void *field = (char *)to + option->offset;
    bool on = true;
    int r = 0;

    switch (option->kind) {
    case CHOICE:
        if (text)
            r = parse_bool(option, text, &on, err);
        /* -cum=false says what it does not want; the default, or an earlier word, stays */
        if (r == 0 && on)
            set_choice(option, to);
        return r;
    case SWITCH:
        if (text)
            r = parse_bool(option, text, &on, err);
        if (r == 0)
            *(bool *)field = on != negated;
        return r;
    case TEXT:
        *(const char **)field = text;
        return 0;
    case TEXTS:
        return list_add(field, text, err);
    case COUNT:
        return parse_count(option, text, field, err);
    case FRACTION:
        return parse_fraction(option, text, field, err);
    case UNIT:
        if (hr_unit_find(text) == HR_UNITS)
            return bad_value(option, text, "a unit: minimum, auto, B, kB, MB, GB, TB or PB", err);
        *(enum hr_unit *)field = hr_unit_find(text);
        return 0;
    case INDEX:
        return parse_index(option, text, field, err);
    case SYMBOLS:
        return parse_symbols(option, text, to, err);
    }
    return 0;
}

int hr_cli_parse(int argc, char **argv, struct hr_options *ret_options, struct hr_error *err)
{
    struct hr_options *to = ret_options;
    int r = 0;

    *to = (struct hr_options){
        .value = HR_INUSE_SPACE,
        .node_count = -1,
        .node_fraction = 0.005,
        .trim = true,
        .symbols = HR_SYMBOLS_LOCAL,
    };
    for (int i = 1; r == 0 && i < argc; i++) {
        const char *word = argv[i];

        if (word[0] != '-' || !word[1]) { /* "-" is standard input */
            r = list_add(&to->arguments, word, err);
            continue;
        }
        if (strcmp(word, "--") == 0) {
            while (r == 0 && ++i < argc)
                r = list_add(&to->arguments, argv[i], err);
            break;
        }

        const char *name = word + (word[1] == '-' ? 2 : 1);
        const char *equals = strchr(name, '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(name);
        const char *text = equals ? equals + 1 : NULL;
        const struct option *option = NULL;
        bool negated = false;

        r = find(name, length, &option, &negated, err);
        if (r < 0)
            break;
        if (option->argument && !text) {
            if (++i == argc) {
                r = hr_error_set(err, -EINVAL, "", 0, "-%s needs a value: -%s=%s", option->name,
                                 option->name, option->argument);
                break;
            }
            text = argv[i];
        }
        r = set_option(option, text, negated, to, err);
    }
    return r;
}

void hr_cli_fini(struct hr_options *to)
{
    free(to->debug_dirs.items);
    free(to->arguments.items);
    to->debug_dirs = to->arguments = (struct hr_list){0};
}

void hr_cli_help(FILE *out)
{
    fprintf(out,
            "usage: heapreport [options] [program or library ...] profile ...\n"
            "\n"
            "Says where the memory of a program is, from the .heap files that libxprof or\n"
            "gperftools wrote. Files are told apart by their content; a lone dash is standard\n"
            "input. Options have one dash or two and may be cut while they stay unique; a value\n"
            "stands behind = or is the next word.\n");
    for (size_t i = 0; i < XP_ARRAY_LENGTH(options); i++) {
        const struct option *option = &options[i];
        char names[64];

        if (option->group)
            fprintf(out, "\n%s:\n", option->group);
        snprintf(names, sizeof(names), "-%s%s%s%s%s", option->name, option->also ? ", -" : "",
                 option->also ? option->also : "", option->argument ? "=" : "",
                 option->argument ? option->argument : "");
        fprintf(out, "  %-20s %s\n", names, option->help);
    }
    fprintf(out, "\n"
                 "Exit status: 0 done, 2 wrong usage or unreadable input.\n"
                 "heapreport(1) tells the rest.\n");
}
