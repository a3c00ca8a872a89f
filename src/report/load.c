/* SPDX-License-Identifier: MIT */
/* load.c - feeds a profile through the reader of its format and scales what it says. */
#include "report/load.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/heap_read.h"
#include "report/samples.h"

#define PIECE ((size_t)256 << 10)

/* What the perl readers take where a sampled file does not say its rate. */
#define RATE_UNSAID 131072

struct loading {
    const char *name;
    struct hr_model *model;
    struct hr_samples samples;
    struct hr_error *err;
    enum pp_heap_kind kind;
    double rate;              /* 0: numbers are what they say */
    double carry[HR_VALUES];  /* what rounding has left over so far */
    uint32_t *locations;      /* of the row at hand */
    size_t location_capacity; /* of that array */
    bool alloc_differs;
};

static int no_memory(struct loading *load, uint64_t line)
{
    return hr_error_set(load->err, -ENOMEM, load->name, line, "out of memory");
}

static int on_header(const struct pp_header *header, void *arg)
{
    static const char *const kinds[] = {
        [PP_HEAPPROFILE] = "heapprofile",
        [PP_HEAP_V2] = "heap_v2",
        [PP_HEAP_V1] = "heap",
        [PP_GROWTH] = "growth",
    };
    struct loading *load = arg;
    struct hr_model *model = load->model;
    const struct pp_counts *totals = &header->totals;
    const char *kind = kinds[header->kind];

    load->kind = header->kind;
    if (header->kind == PP_HEAP_V2 || header->kind == PP_HEAP_V1)
        load->rate = header->rate ? (double)header->rate : RATE_UNSAID;
    model->sample_bytes = (int64_t)load->rate;
    load->alloc_differs =
        header->kind != PP_GROWTH &&
        ((totals->alloc_objects != totals->inuse_objects && totals->alloc_objects != 0) ||
         (totals->alloc_bytes != totals->inuse_bytes && totals->alloc_bytes != 0));
    model->kind = hr_string_intern(model, kind, strlen(kind));
    return model->kind == HR_NONE ? no_memory(load, 0) : 0;
}

/* By how much a row of objects with this mean size was thinned by sampling. */
static double factor_of(const struct loading *load, double objects, double bytes)
{
    if (load->rate <= 1 || objects == 0 || bytes == 0)
        return 1;

    double ratio = bytes / objects / load->rate;

    if (load->kind == PP_HEAP_V1)
        return ratio < 1 ? 1 / ratio : 1;
    return -1 / expm1(-ratio);
}

/* The rounding error of each row goes into the next one, so that totals are not biased and agree
 * with readers that add fractions up. */
static int scale(struct loading *load, int64_t raw, double factor, int which, int64_t *ret_value)
{
    if (factor == 1) {
        *ret_value = raw;
        return 0;
    }

    double exact = (double)raw * factor + load->carry[which];
    double rounded = nearbyint(exact);

    if (!(fabs(rounded) < 0x1p63))
        return -EOVERFLOW;
    load->carry[which] = exact - rounded;
    *ret_value = (int64_t)rounded;
    return 0;
}

static int scale_row(struct loading *load, const struct pp_counts *counts, struct hr_sample *sample)
{
    const struct {
        int64_t objects, bytes;
        enum hr_value object_index, byte_index;
    } pairs[] = {
        {counts->alloc_objects, counts->alloc_bytes, HR_ALLOC_OBJECTS, HR_ALLOC_SPACE},
        {counts->inuse_objects, counts->inuse_bytes, HR_INUSE_OBJECTS, HR_INUSE_SPACE},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < XP_ARRAY_LENGTH(pairs); i++) {
        int64_t objects = pairs[i].objects, bytes = pairs[i].bytes;
        double factor = factor_of(load, (double)objects, (double)bytes);

        if (objects != 0 && !(objects == -1 && bytes == INT64_MIN))
            sample->block_bytes = bytes / objects;
        r = scale(load, objects, factor, pairs[i].object_index,
                  &sample->values[pairs[i].object_index]);
        if (r == 0)
            r = scale(load, bytes, factor, pairs[i].byte_index,
                      &sample->values[pairs[i].byte_index]);
    }
    return r;
}

static int on_row(const struct pp_row *row, uint64_t line, void *arg)
{
    struct loading *load = arg;
    struct hr_sample sample = {.depth = (uint32_t)row->depth};

    if (row->depth > load->location_capacity) {
        size_t capacity = row->depth + row->depth / 2 + 64;
        uint32_t *locations = reallocarray(load->locations, capacity, sizeof(*locations));

        if (!locations)
            return no_memory(load, line);
        load->locations = locations;
        load->location_capacity = capacity;
    }
    for (size_t i = 0; i < row->depth; i++) {
        uint64_t pc = row->pcs[i];
        uint32_t location = hr_model_location(load->model, pc, pc ? pc - 1 : 0);

        if (location == HR_NONE)
            return no_memory(load, line);
        load->locations[i] = location;
    }

    int r = scale_row(load, &row->counts, &sample);

    if (r == 0)
        r = hr_samples_add(&load->samples, &sample, load->locations);
    if (r == -EOVERFLOW)
        return hr_error_set(load->err, r, load->name, line,
                            "the sum of the rows is too large for 63 bits: the file is damaged");
    return r < 0 ? no_memory(load, line) : 0;
}

/* "1790000000.123456789" in nanoseconds; 0 when it is none. */
static int64_t parse_time(const char *text)
{
    char *end;
    long long seconds = strtoll(text, &end, 10), nanoseconds = 0, unit = 100000000;

    if (end == text || seconds < 0 || seconds > INT64_MAX / 1000000000 - 1)
        return 0;
    if (*end == '.')
        for (end++; *end >= '0' && *end <= '9'; end++, unit /= 10)
            nanoseconds += (*end - '0') * unit;
    return seconds * 1000000000 + nanoseconds;
}

static int64_t parse_number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static int on_comment(const char *text, size_t length, uint64_t line, void *arg)
{
    struct loading *load = arg;
    struct hr_model *model = load->model;
    const struct {
        const char *key;
        hr_string *string;
        int64_t *number;
        int64_t (*parse)(const char *text);
    } keys[] = {
        {PP_KEY_LIBXPROF, &model->writer_version, NULL, NULL},
        {PP_KEY_RUN, &model->run_id, NULL, NULL},
        {PP_KEY_COMMAND, &model->command, NULL, NULL},
        {PP_KEY_REASON, &model->reason, NULL, NULL},
        {PP_KEY_BINARY, &model->program, NULL, NULL},
        {PP_KEY_PID, NULL, &model->pid, parse_number},
        {PP_KEY_SEQUENCE, NULL, &model->sequence, parse_number},
        {PP_KEY_INTERVAL, NULL, &model->sample_bytes, parse_number},
        {PP_KEY_TIME, NULL, &model->time_ns, parse_time},
    };

    for (size_t i = 0; i < XP_ARRAY_LENGTH(keys); i++) {
        size_t value_length;
        const char *value = pp_comment_value(text, length, keys[i].key, &value_length);

        if (!value)
            continue;
        if (keys[i].number) {
            char number[32];

            snprintf(number, sizeof(number), "%.*s", (int)(value_length < 31 ? value_length : 31),
                     value);
            *keys[i].number = keys[i].parse(number);
            return 0;
        }

        char *plain = malloc(value_length + 1);

        if (!plain)
            return no_memory(load, line);
        value_length = pp_comment_unescape(value, value_length, plain);
        *keys[i].string = hr_string_intern(model, plain, value_length);
        free(plain);
        return *keys[i].string == HR_NONE ? no_memory(load, line) : 0;
    }
    return 0;
}

static int on_mapping(const struct pp_mapping *mapping, uint64_t line, void *arg)
{
    struct loading *load = arg;
    struct hr_model *model = load->model;

    if (!mapping->executable || mapping->start >= mapping->limit)
        return 0;

    struct hr_mapping added = {
        .start = mapping->start,
        .limit = mapping->limit,
        .offset = mapping->offset,
        .path = hr_string_intern(model, mapping->path, mapping->path_length),
        .deleted = mapping->deleted,
    };

    if (mapping->build_id)
        added.build_id = hr_string_intern(model, mapping->build_id, mapping->build_id_length);
    if (added.path == HR_NONE || added.build_id == HR_NONE ||
        hr_model_add_mapping(model, &added) == HR_NONE)
        return no_memory(load, line);
    return 0;
}

/* ".so" at the end, or followed by "." or "_" and a digit. */
static bool is_library(const char *path)
{
    for (const char *at = path; (at = strstr(at, ".so")) != NULL; at += 3)
        if (!at[3] || ((at[3] == '.' || at[3] == '_') && at[4] >= '0' && at[4] <= '9'))
            return true;
    return false;
}

/* The first mapping that is neither a library nor a pseudo file holds the program. */
static void find_program(struct hr_model *model)
{
    for (uint32_t i = 0; !model->program && i < model->mapping_count; i++) {
        const char *path = hr_string_text(model, model->mappings[i].path);

        if (*path && *path != '[' && !is_library(path))
            model->program = model->mappings[i].path;
    }
}

static int feed(struct loading *load, struct hr_source *source, struct pp_heap_reader *reader,
                char *buffer)
{
    struct pp_error broken = {0};
    int64_t n;
    int r = 0;

    while (r == 0 && (n = hr_source_read(source, buffer, PIECE, load->err)) != 0) {
        if (n < 0)
            return (int)n;
        r = pp_heap_reader_push(reader, buffer, (size_t)n, &broken);
    }
    if (r == 0)
        r = pp_heap_reader_finish(reader, &broken);
    /* what a visitor said stands already */
    return r < 0 ? hr_error_set(load->err, r, load->name, broken.line, "%s", broken.text) : 0;
}

static int refuse(const struct hr_source *source, struct hr_error *err)
{
    switch (source->content) {
    case HR_CONTENT_EMPTY:
        return hr_error_set(err, -EPROTO, source->name, 0,
                            "is empty; was the program still running when it was copied?");
    case HR_CONTENT_GZIP:
        return hr_error_set(err, -EPROTO, source->name, 0,
                            "is compressed; only .heap text files are read: gunzip it first");
    case HR_CONTENT_ELF:
        return hr_error_set(err, -EPROTO, source->name, 0,
                            "is a program, not a profile; give a .heap file too");
    case HR_CONTENT_PROFILE:
    case HR_CONTENT_OTHER:
        break;
    }
    return hr_error_set(err, -EPROTO, source->name, 1,
                        "not a heap profile: it does not start with 'heap profile:'; give a file "
                        "that HEAPPROFILE wrote");
}

int hr_load(struct hr_source *source, struct hr_model **ret_model, struct hr_error *err)
{
    static const struct pp_heap_visitor visitor = {
        .header = on_header,
        .row = on_row,
        .comment = on_comment,
        .mapping = on_mapping,
    };
    struct loading load = {.name = source->name, .err = err};

    if (source->content != HR_CONTENT_PROFILE)
        return refuse(source, err);

    struct pp_heap_reader *reader = malloc(pp_heap_reader_size());
    char *buffer = malloc(PIECE);
    int r;

    load.model = hr_model_create();
    if (!reader || !buffer || !load.model) {
        r = no_memory(&load, 0);
        goto out;
    }
    hr_samples_init(&load.samples, load.model); /* of no samples: cannot overflow */
    pp_heap_reader_init(reader, &visitor, &load);
    r = feed(&load, source, reader, buffer);
    if (r < 0)
        goto out;

    load.model->has_alloc = load.kind == PP_HEAPPROFILE || load.alloc_differs;
    find_program(load.model);
    if (hr_model_resolve_mappings(load.model) < 0) {
        r = no_memory(&load, 0);
        goto out;
    }
    *ret_model = load.model;
    load.model = NULL;
out:
    hr_samples_fini(&load.samples);
    hr_model_destroy(load.model);
    free(load.locations);
    free(buffer);
    free(reader);
    return r;
}
