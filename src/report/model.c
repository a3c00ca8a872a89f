/* SPDX-License-Identifier: MIT */
/* model.c - the arrays of a profile: interned strings and locations, checked growth. */
#include "report/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/hash.h"

#define TEXT_CHUNK ((size_t)64 << 10)

/* Open addressing over indexes + 1; 0 is empty; the length is a power of two, at most half full.
 * The keys stand in the arrays that the indexes point into. */
struct table {
    uint32_t *slots;
    uint32_t length;
};

struct text {
    const char *bytes; /* terminated, inside a chunk: never moves */
    uint32_t hash, length;
};

struct chunk {
    struct chunk *next;
    size_t used, size;
    char bytes[];
};

struct hr_strings {
    struct text *texts;
    uint32_t count, capacity;
    struct chunk *chunks;
    struct table table;
};

/* What the public model does not show: how much room its arrays have. */
struct box {
    struct hr_model model; /* first: the public pointer is the box */
    struct hr_strings strings;
    struct table locations;
    uint32_t mapping_capacity, frame_capacity, location_capacity, sample_capacity, stack_capacity;
    uint64_t seed; /* a file must not choose its collisions */
};

static struct box *box_of(struct hr_model *model)
{
    return (struct box *)model;
}

/* Room for extra more entries behind count. HR_NONE itself is never an index. */
static int grow(void **array, uint32_t *capacity, uint32_t count, uint64_t extra, size_t entry)
{
    uint64_t need = (uint64_t)count + extra;
    uint64_t size = *capacity ? *capacity : 16;

    if (need <= *capacity)
        return 0;
    if (need >= HR_NONE)
        return -ENOMEM;
    while (size < need)
        size += size / 2;
    if (size >= HR_NONE)
        size = HR_NONE - 1;

    void *grown = reallocarray(*array, size, entry);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *capacity = (uint32_t)size;
    return 0;
}

static uint32_t hash_text(uint64_t seed, const char *text, size_t length)
{
    uint64_t h = xp_hash_add(seed, length), word;

    for (; length >= 8; text += 8, length -= 8) {
        memcpy(&word, text, 8);
        h = xp_hash_add(h, word);
    }
    word = 0;
    memcpy(&word, text, length);
    return (uint32_t)xp_hash_add(h, word);
}

static uint32_t hash_location(uint64_t seed, uint64_t pc, uint64_t address)
{
    return (uint32_t)xp_hash_add(xp_hash_add(seed, pc), address);
}

static void table_put(struct table *table, uint32_t hash, uint32_t index)
{
    uint32_t i = hash & (table->length - 1);

    while (table->slots[i])
        i = (i + 1) & (table->length - 1);
    table->slots[i] = index + 1;
}

/* An empty table of twice the length, when count entries fill half of it; *ret_grown says that the
 * caller has to put all of them in again. */
static int table_grow(struct table *table, uint32_t count, bool *ret_grown)
{
    *ret_grown = false;
    if (table->length && count < table->length / 2)
        return 0;
    if (table->length > UINT32_MAX / 2)
        return -ENOMEM;

    uint32_t length = table->length ? table->length * 2 : 64;
    uint32_t *slots = calloc(length, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(table->slots);
    table->slots = slots;
    table->length = length;
    *ret_grown = true;
    return 0;
}

static int strings_table_grow(struct hr_strings *strings)
{
    bool grown;
    int r = table_grow(&strings->table, strings->count, &grown);

    if (r == 0 && grown)
        for (uint32_t i = 0; i < strings->count; i++)
            table_put(&strings->table, strings->texts[i].hash, i);
    return r;
}

/* length + 1 bytes that never move, or NULL. */
static char *take_bytes(struct hr_strings *strings, size_t length)
{
    struct chunk *chunk = strings->chunks;

    if (!chunk || chunk->size - chunk->used < length + 1) {
        size_t size = length + 1 > TEXT_CHUNK / 4 ? length + 1 : TEXT_CHUNK;
        struct chunk *fresh = malloc(sizeof(*fresh) + size);

        if (!fresh)
            return NULL;
        fresh->used = 0;
        fresh->size = size;
        /* a long text gets a chunk of its own behind the one that still has room */
        if (chunk && size != TEXT_CHUNK) {
            fresh->next = chunk->next;
            chunk->next = fresh;
        } else {
            fresh->next = chunk;
            strings->chunks = fresh;
        }
        chunk = fresh;
    }

    char *bytes = chunk->bytes + chunk->used;

    chunk->used += length + 1;
    return bytes;
}

hr_string hr_string_intern(struct hr_model *model, const char *text, size_t length)
{
    struct box *box = box_of(model);
    struct hr_strings *strings = &box->strings;

    /* texts end at their first NUL: two that print alike are one */
    length = strnlen(text, length);
    if (length >= UINT32_MAX)
        return HR_NONE;

    uint32_t hash = hash_text(box->seed, text, length);
    struct table *table = &strings->table;

    if (table->length)
        for (uint32_t i = hash & (table->length - 1); table->slots[i];
             i = (i + 1) & (table->length - 1)) {
            const struct text *found = &strings->texts[table->slots[i] - 1];

            if (found->hash == hash && found->length == length &&
                memcmp(found->bytes, text, length) == 0)
                return table->slots[i] - 1;
        }

    if (grow((void **)&strings->texts, &strings->capacity, strings->count, 1,
             sizeof(*strings->texts)) < 0 ||
        strings_table_grow(strings) < 0)
        return HR_NONE;

    char *bytes = take_bytes(strings, length);
    if (!bytes)
        return HR_NONE;
    memcpy(bytes, text, length);
    bytes[length] = 0;

    uint32_t index = strings->count++;

    strings->texts[index] = (struct text){bytes, hash, (uint32_t)length};
    table_put(table, hash, index);
    return index;
}

const char *hr_string_text(const struct hr_model *model, hr_string string)
{
    if (string >= model->strings->count)
        return "";
    return model->strings->texts[string].bytes;
}

struct hr_model *hr_model_create(void)
{
    struct box *box = calloc(1, sizeof(*box));
    const void *random = (const void *)getauxval(AT_RANDOM);

    if (!box)
        return NULL;
    if (random)
        memcpy(&box->seed, random, sizeof(box->seed));
    box->model.strings = &box->strings;
    if (hr_string_intern(&box->model, "", 0) == HR_NONE) {
        hr_model_destroy(&box->model);
        return NULL;
    }
    return &box->model;
}

void hr_model_destroy(struct hr_model *model)
{
    if (!model)
        return;

    struct box *box = box_of(model);

    for (struct chunk *chunk = box->strings.chunks, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    free(box->strings.texts);
    free(box->strings.table.slots);
    free(box->locations.slots);
    free(model->mappings);
    free(model->frames);
    free(model->locations);
    free(model->samples);
    free(model->stack);
    free(box);
}

uint32_t hr_model_add_mapping(struct hr_model *model, const struct hr_mapping *mapping)
{
    if (grow((void **)&model->mappings, &box_of(model)->mapping_capacity, model->mapping_count, 1,
             sizeof(*mapping)) < 0)
        return HR_NONE;
    model->mappings[model->mapping_count] = *mapping;
    return model->mapping_count++;
}

uint32_t hr_model_add_frame(struct hr_model *model, const struct hr_frame *frame)
{
    if (grow((void **)&model->frames, &box_of(model)->frame_capacity, model->frame_count, 1,
             sizeof(*frame)) < 0)
        return HR_NONE;
    model->frames[model->frame_count] = *frame;
    return model->frame_count++;
}

uint32_t hr_model_location(struct hr_model *model, uint64_t pc, uint64_t address)
{
    struct box *box = box_of(model);
    struct table *table = &box->locations;
    uint32_t hash = hash_location(box->seed, pc, address);

    if (table->length)
        for (uint32_t i = hash & (table->length - 1); table->slots[i];
             i = (i + 1) & (table->length - 1)) {
            const struct hr_location *found = &model->locations[table->slots[i] - 1];

            if (found->pc == pc && found->address == address)
                return table->slots[i] - 1;
        }

    bool grown;

    if (grow((void **)&model->locations, &box->location_capacity, model->location_count, 1,
             sizeof(*model->locations)) < 0 ||
        table_grow(table, model->location_count, &grown) < 0)
        return HR_NONE;
    if (grown)
        for (uint32_t i = 0; i < model->location_count; i++)
            table_put(table,
                      hash_location(box->seed, model->locations[i].pc, model->locations[i].address),
                      i);

    uint32_t index = model->location_count++;

    model->locations[index] =
        (struct hr_location){.pc = pc, .address = address, .mapping = HR_NONE};
    table_put(table, hash, index);
    return index;
}

uint32_t hr_model_add_sample(struct hr_model *model, const struct hr_sample *sample,
                             const uint32_t *locations)
{
    struct box *box = box_of(model);

    if (grow((void **)&model->samples, &box->sample_capacity, model->sample_count, 1,
             sizeof(*model->samples)) < 0 ||
        grow((void **)&model->stack, &box->stack_capacity, model->stack_count, sample->depth,
             sizeof(*model->stack)) < 0)
        return HR_NONE;

    struct hr_sample *added = &model->samples[model->sample_count];

    *added = *sample;
    added->stack_first = model->stack_count;
    if (sample->depth)
        memcpy(model->stack + model->stack_count, locations, sample->depth * sizeof(*locations));
    model->stack_count += sample->depth;
    return model->sample_count++;
}

/* A mapping as the search sees it: of two that overlap, the later line of the file holds. */
struct range {
    uint64_t start, limit;
    uint32_t mapping;
};

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->mapping < y->mapping ? -1 : x->mapping > y->mapping;
}

int hr_model_resolve_mappings(struct hr_model *model)
{
    uint32_t count = model->mapping_count;
    struct range *ranges = malloc(((size_t)count + 1) * sizeof(*ranges));

    if (!ranges)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        ranges[i] = (struct range){model->mappings[i].start, model->mappings[i].limit, i};
    qsort(ranges, count, sizeof(*ranges), compare_ranges);

    for (uint32_t i = 0; i < model->location_count; i++) {
        struct hr_location *location = &model->locations[i];
        uint32_t low = 0, high = count;

        while (low < high) {
            uint32_t middle = low + (high - low) / 2;

            if (ranges[middle].start <= location->address)
                low = middle + 1;
            else
                high = middle;
        }
        location->mapping =
            low && location->address < ranges[low - 1].limit ? ranges[low - 1].mapping : HR_NONE;
    }
    free(ranges);
    return 0;
}
