/* SPDX-License-Identifier: MIT */
#include "report/cli.h"

#include <errno.h>
#include <stdlib.h>

#include "test.h"

static struct hr_options options;
static struct hr_error err;

/* Parses the words of a line. */
static int parse(const char *line)
{
    static char copy[512];
    static char *argv[32];
    int argc = 1;

    argv[0] = (char *)"heapreport";
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    hr_cli_fini(&options);
    err = (struct hr_error){0};
    return hr_cli_parse(argc, argv, &options, &err);
}

TEST(defaults_are_those_of_pprof)
{
    CHECK_EQ(parse("x.heap"), 0);
    CHECK_EQ(options.report, HR_TOP);
    CHECK_EQ(options.value, HR_INUSE_SPACE);
    CHECK_EQ(options.granularity, HR_FUNCTIONS);
    CHECK_EQ(options.node_count, -1);
    CHECK(options.node_fraction == 0.005);
    CHECK(options.trim && !options.cum_sort);
    CHECK_EQ(options.symbols, HR_SYMBOLS_LOCAL);
    CHECK_EQ(options.demangle, HR_DEMANGLE_SHORT);
    CHECK_EQ(options.arguments.count, 1);
    CHECK_STR(options.arguments.items[0], "x.heap");
}

TEST(one_dash_or_two_equals_or_blank)
{
    CHECK_EQ(parse("-nodecount=23 x --nodecount 101 -focus a.*b --ignore=c"), 0);
    CHECK_EQ(options.node_count, 101);
    CHECK_STR(options.focus, "a.*b");
    CHECK_STR(options.ignore, "c");
    CHECK_EQ(parse("-symfs= x"), 0);
    CHECK_STR(options.symfs, "");
}

TEST(switches_take_a_value_only_behind_equals)
{
    CHECK_EQ(parse("-trim=false x"), 0);
    CHECK(!options.trim);
    CHECK_EQ(parse("-ignore_build_id false"), 0);
    CHECK(options.ignore_build_id);
    CHECK_STR(options.arguments.items[0], "false");
    CHECK_EQ(parse("--no-trim --notrim=false --ignore_build_id=0"), 0);
    CHECK(options.trim && !options.ignore_build_id);
    CHECK_EQ(parse("-no-trim"), 0);
    CHECK(!options.trim);
    CHECK_EQ(parse("-cum=false -traces=true"), 0);
    CHECK(!options.cum_sort);
    CHECK_EQ(options.report, HR_TRACES);
    CHECK_EQ(parse("-trim=maybe"), -EINVAL);
    CHECK_STR(err.text, "-trim: 'maybe' is not true or false");
}

TEST(names_may_be_cut_while_they_are_unique)
{
    CHECK_EQ(parse("-li -col -inuse_o -symb=none"), 0);
    CHECK_EQ(options.granularity, HR_LINES);
    CHECK_EQ(options.report, HR_COLLAPSED);
    CHECK_EQ(options.value, HR_INUSE_OBJECTS);
    CHECK_EQ(options.symbols, HR_SYMBOLS_NONE);
    CHECK_EQ(parse("-tr"), -EINVAL);
    CHECK_STR(err.text, "-tr may mean -traces or -trim; write more of the name");
    CHECK_EQ(parse("-ignore=x"), 0); /* whole, though -ignore_build_id begins so too */
    CHECK_STR(options.ignore, "x");
    CHECK_EQ(parse("-out=f"), 0);
    CHECK_STR(options.output, "f");
}

TEST(a_later_word_of_a_group_wins)
{
    CHECK_EQ(parse("-traces -raw -text -lines -addresses -cum -flat -alloc_space -inuse_space"), 0);
    CHECK_EQ(options.report, HR_TOP);
    CHECK_EQ(options.granularity, HR_ADDRESSES);
    CHECK(!options.cum_sort);
    CHECK_EQ(options.value, HR_INUSE_SPACE);
}

TEST(bad_values_are_told_with_what_is_wanted)
{
    CHECK_EQ(parse("-nodecount=many"), -EINVAL);
    CHECK_STR(err.text, "-nodecount: 'many' is not a number, 0 or more");
    CHECK_EQ(parse("-nodecount=99999999999999999999"), -EINVAL);
    CHECK_EQ(parse("-nodefraction=1.5"), -EINVAL);
    CHECK_EQ(parse("-nodefraction=nan"), -EINVAL);
    CHECK_EQ(parse("-unit=parsec"), -EINVAL);
    CHECK_EQ(parse("-sample_index=cpu"), -EINVAL);
    CHECK_EQ(parse("-symbolize=remote"), -EINVAL);
    CHECK_EQ(parse("-focus"), -EINVAL);
    CHECK_STR(err.text, "-focus needs a value: -focus=REGEX");
    CHECK_EQ(parse("--frobnicate"), -EINVAL);
    CHECK_STR(err.text, "unknown option -frobnicate; heapreport -help lists the options");
}

TEST(options_that_only_pprof_has_are_told_from_misspelled_ones)
{
    CHECK_EQ(parse("--diff_base=old.heap"), -EINVAL);
    CHECK_STR(err.text, "-diff_base is not supported; pprof has it and reads the same files");
    CHECK_EQ(parse("-list"), -EINVAL);
    CHECK_STR(err.text, "-list is not supported; pprof has it and reads the same files");
    CHECK_EQ(parse("-diff_bas"), -EINVAL);
    CHECK_STR(err.text, "unknown option -diff_bas; heapreport -help lists the options");
    CHECK_EQ(parse("-=1"), -EINVAL);
}

TEST(symbolize_takes_modes_and_demangling)
{
    CHECK_EQ(parse("-symbolize=fastlocal:demangle=templates"), 0);
    CHECK_EQ(options.symbols, HR_SYMBOLS_FAST);
    CHECK_EQ(options.demangle, HR_DEMANGLE_TEMPLATES);
    CHECK_EQ(parse("-symbolize=demangle=none:force"), 0);
    CHECK_EQ(options.symbols, HR_SYMBOLS_LOCAL);
    CHECK_EQ(options.demangle, HR_DEMANGLE_NONE);
}

TEST(sample_index_takes_the_names_of_both_kinds_of_files)
{
    CHECK_EQ(parse("-sample_index=alloc_objects"), 0);
    CHECK_EQ(options.value, HR_ALLOC_OBJECTS);
    CHECK_EQ(parse("-sample_index=space"), 0);
    CHECK_EQ(options.value, HR_INUSE_SPACE);
}

TEST(behind_two_dashes_all_are_files)
{
    CHECK_EQ(parse("-debug_dir=a -debug_dir b - -- -top --"), 0);
    CHECK_EQ(options.debug_dirs.count, 2);
    CHECK_STR(options.debug_dirs.items[1], "b");
    CHECK_EQ(options.arguments.count, 3);
    CHECK_STR(options.arguments.items[0], "-");
    CHECK_STR(options.arguments.items[1], "-top");
    CHECK_STR(options.arguments.items[2], "--");
}

TEST(the_help_fits_the_screen)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    hr_cli_help(out);
    fclose(out);
    CHECK(strstr(text, "  -o, -output=FILE     write the report to FILE\n"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        CHECK(strlen(line) <= 100);
    free(text);
}
