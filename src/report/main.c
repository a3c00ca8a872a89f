/* SPDX-License-Identifier: MIT */
/* main.c - heapreport from argv to exit code: the only room that talks to people. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/cli.h"
#include "report/coverage.h"
#include "report/filter.h"
#include "report/graph.h"
#include "report/inputs.h"
#include "report/nodes.h"
#include "report/output.h"
#include "report/prune.h"
#include "report/render.h"
#include "report/symbolize.h"

enum { EXIT_DONE = 0, EXIT_BAD_INPUT = 2 };

/* Modules without names that get a line each; the others are counted. */
#define MODULE_LINES 5

static int complain(const struct hr_error *err)
{
    fflush(stdout);
    fputs("heapreport: ", stderr);
    if (*err->place)
        fprintf(stderr, "%s:", err->place);
    if (err->line)
        fprintf(stderr, "%llu:", (unsigned long long)err->line);
    fprintf(stderr, "%s%s\n", *err->place || err->line ? " " : "",
            *err->text ? err->text : strerror(-err->code));
    return EXIT_BAD_INPUT;
}

/* The directories of PPROF_BINARY_PATH behind those of the options. copy holds their text. */
static int add_environment_dirs(struct hr_list *dirs, char **ret_copy, struct hr_error *err)
{
    const char *path = getenv("PPROF_BINARY_PATH");
    char *copy = strdup(path ? path : ""), *rest = copy;

    *ret_copy = copy;
    if (!copy)
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    for (const char *dir; (dir = strsep(&rest, ":")) != NULL;) {
        if (!*dir)
            continue;

        const char **items = reallocarray(dirs->items, dirs->count + 1, sizeof(*items));

        if (!items)
            return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
        items[dirs->count++] = dir;
        dirs->items = items;
    }
    return 0;
}

static int symbolize(struct hr_options *options, struct hr_inputs *inputs, struct hr_error *err)
{
    char *copy;
    int r;

    if (options->symbols == HR_SYMBOLS_NONE)
        return 0;
    r = add_environment_dirs(&options->debug_dirs, &copy, err);
    if (r == 0) {
        const struct hr_symbolize_options how = {
            .binaries = inputs->binaries.items,
            .binary_count = inputs->binaries.count,
            .debug_dirs = options->debug_dirs.items,
            .debug_dir_count = options->debug_dirs.count,
            .symfs = options->symfs,
            .demangle = options->demangle,
            .ignore_build_id = options->ignore_build_id,
            .symtab_only = options->symbols == HR_SYMBOLS_FAST,
        };

        r = hr_symbolize(inputs->model, &how, err);
    }
    free(copy);
    if (r == 0 && hr_prune(inputs->model) < 0)
        r = hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    return r;
}

/* What was shown, where the command line did not say it. */
static void tell_inputs(const struct hr_inputs *inputs)
{
    if (inputs->superseded_count)
        fprintf(stderr,
                "heapreport: dumps of one process are a series: %zu earlier one%s left out, "
                "%s is shown\n",
                inputs->superseded_count, inputs->superseded_count > 1 ? "s" : "",
                inputs->process_count > 1 ? "the last of each process" : inputs->last);
    if (inputs->process_count > 1)
        fprintf(stderr, "heapreport: numbers are sums over %zu processes\n", inputs->process_count);
}

/* Whether nothing is in use of what was allocated. */
static bool is_freed(const struct hr_model *model, enum hr_value value)
{
    bool is_inuse = value == HR_INUSE_SPACE || value == HR_INUSE_OBJECTS;

    return is_inuse && model->has_alloc && hr_render_total(model, value) == 0 &&
           hr_render_total(model, HR_ALLOC_OBJECTS) > 0;
}

/* An empty table needs a word: mostly the program was too small for the distance of the samples, or
 * had given everything back. */
static void tell_freed(const char *of_what)
{
    fprintf(
        stderr,
        "heapreport: nothing%s was in use at the time of this dump; -alloc_space shows what was "
        "allocated until then\n",
        of_what);
}

static void tell_unsampled(const struct hr_model *model)
{
    if (model->sample_bytes > 1)
        fprintf(stderr,
                "heapreport: no sample was taken: they lie about %" PRId64
                " bytes apart, and the program allocated less (its children have files of "
                "their own); with XPROF_SAMPLE_BYTES=1 each allocation is taken\n",
                model->sample_bytes);
}

static void tell_modules(const struct hr_model *model, const struct hr_options *options,
                         int64_t total)
{
    bool lines_shown = options->granularity != HR_FUNCTIONS || options->report == HR_RAW;
    struct hr_coverage coverage;
    int64_t least = 0;

    /* a module whose rows are all dropped is not missed */
    if (options->report == HR_TOP && options->trim)
        least = hr_graph_cutoff(hr_render_total(model, options->value), options->node_fraction);
    /* who asked for the fast way knows that it has no lines */
    lines_shown &= options->symbols != HR_SYMBOLS_FAST;
    if (hr_coverage_make(model, options->value, lines_shown, least, &coverage) < 0)
        return;
    for (uint32_t i = 0; i < coverage.count && i < MODULE_LINES; i++) {
        const struct hr_mapping *mapping = &model->mappings[coverage.modules[i].mapping];
        char percent[HR_NUMBER_SIZE];
        const char *share = hr_format_percent(percent, coverage.modules[i].value, total);

        fputs("heapreport: ", stderr);
        hr_render_text(hr_base_name(hr_string_text(model, mapping->path)), stderr);
        fputs(": ", stderr);
        hr_render_text(hr_string_text(model, mapping->diagnosis), stderr);
        fprintf(stderr, " (%s of %s)\n", share + strspn(share, " "), hr_value_name(options->value));
    }
    if (coverage.count > MODULE_LINES)
        fprintf(stderr, "heapreport: and %u more modules with such troubles\n",
                coverage.count - MODULE_LINES);
    hr_coverage_free(&coverage);
}

static int filter(const struct hr_options *options, struct hr_model *model, struct hr_error *err)
{
    const struct hr_filter filter = {.focus = options->focus, .ignore = options->ignore};
    bool focused, ignored;
    int r = hr_filter_apply(model, &filter, &focused, &ignored, err);

    if (r < 0)
        return r;
    if (!focused)
        fprintf(stderr, "heapreport: -focus matched no frame\n");
    if (!ignored)
        fprintf(stderr, "heapreport: -ignore matched no frame\n");
    return 0;
}

static int report(struct hr_options *options, struct hr_inputs *inputs, struct hr_error *err)
{
    struct hr_view view = {.options = options};
    struct hr_output output;
    int r =
        hr_output_check(options->output, options->arguments.items, options->arguments.count, err);

    if (r < 0)
        return r;
    r = hr_inputs_load(&options->arguments, inputs, err);
    if (r < 0)
        return r;
    view.model = inputs->model;
    if (!view.model->has_alloc &&
        (options->value == HR_ALLOC_SPACE || options->value == HR_ALLOC_OBJECTS))
        return hr_error_set(err, -EINVAL, inputs->first, 0,
                            "has no %s numbers: %s profiles hold what is in use; use -inuse_space "
                            "or -inuse_objects",
                            hr_value_name(options->value),
                            hr_string_text(view.model, view.model->kind));
    r = symbolize(options, inputs, err);
    if (r < 0)
        return r;
    view.total = hr_render_total(view.model, options->value);

    bool all_freed = is_freed(view.model, options->value);

    r = filter(options, view.model, err);
    if (r < 0)
        return r;

    r = hr_output_open(&output, options->output, err);
    if (r < 0) {
        hr_output_abandon(&output);
        return r;
    }
    if (hr_render(&view, output.stream) < 0) {
        hr_output_abandon(&output);
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    }
    r = hr_output_commit(&output, err);
    if (r < 0)
        return r;
    tell_inputs(inputs);
    if (all_freed)
        tell_freed("");
    else if (view.total == 0)
        tell_unsampled(view.model);
    else if (is_freed(view.model, options->value))
        tell_freed(" in these stacks");
    else
        tell_modules(view.model, options, view.total);
    return 0;
}

int main(int argc, char **argv)
{
    struct hr_options options;
    struct hr_inputs inputs = {0};
    struct hr_error err = {0};
    int r = hr_cli_parse(argc, argv, &options, &err);

    if (r == 0 && options.help) {
        hr_cli_help(stdout);
    } else if (r == 0 && options.version) {
        puts("heapreport " XP_VERSION);
    } else if (r == 0) {
        r = report(&options, &inputs, &err);
    }
    if (r == 0 && (options.help || options.version) && fflush(stdout) != 0)
        r = hr_error_set(&err, -errno, "standard output", 0, "cannot write: %s", strerror(errno));
    hr_inputs_fini(&inputs);
    hr_cli_fini(&options);
    return r < 0 ? complain(&err) : EXIT_DONE;
}
