/* SPDX-License-Identifier: MIT */
/* nodes.c - folds the frames of all locations into the rows of a report, and names them. */
#include "report/nodes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct making {
    struct hr_model *model;
    enum hr_granularity granularity;
    struct hr_nodes *to;
    uint32_t capacity, slot_count;
    uint32_t *slots; /* open addressing: node + 1 */
};

static uint64_t hash_node(const struct hr_node *node)
{
    uint64_t h = xp_hash_add(node->address, (uint64_t)node->function << 32 | node->file);

    return xp_hash_add(h, (uint64_t)node->object << 32 | node->line);
}

static bool same_node(const struct hr_node *a, const struct hr_node *b)
{
    return a->address == b->address && a->function == b->function && a->file == b->file &&
           a->object == b->object && a->line == b->line;
}

static void put(struct making *making, uint64_t hash, uint32_t node)
{
    uint32_t mask = making->slot_count - 1, i = (uint32_t)hash & mask;

    while (making->slots[i])
        i = (i + 1) & mask;
    making->slots[i] = node + 1;
}

static int grow(struct making *making)
{
    struct hr_nodes *to = making->to;

    if (to->count < making->capacity)
        return 0;
    if (making->capacity > UINT32_MAX / 4)
        return -ENOMEM;

    uint32_t capacity = making->capacity ? making->capacity * 2 : 64;
    struct hr_node *nodes = reallocarray(to->nodes, capacity, sizeof(*nodes));

    if (!nodes)
        return -ENOMEM;
    to->nodes = nodes;

    uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(making->slots);
    making->slots = slots;
    making->slot_count = capacity * 2;
    making->capacity = capacity;
    for (uint32_t i = 0; i < to->count; i++)
        put(making, hash_node(&nodes[i]), i);
    return 0;
}

const char *hr_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash && slash[1] ? slash + 1 : path;
}

/* Names come out of files: a terminal must not obey them. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

/* What is known of it, from the address to the line; never nothing. */
static int name_node(struct hr_model *model, struct hr_node *node)
{
    const char *function = hr_string_text(model, node->function);
    const char *file = hr_string_text(model, node->file);
    const char *object = hr_string_text(model, node->object);
    char address[24] = "", line[16] = "";
    char *place, *name;
    int length;

    if (node->address)
        snprintf(address, sizeof(address), "%016llx ", (unsigned long long)node->address);
    if (node->line)
        snprintf(line, sizeof(line), ":%u", node->line);
    if (node->line || *file)
        length = asprintf(&place, "%s%s%s", *function ? " " : "", file, line);
    else if (*function)
        length = asprintf(&place, "%s", "");
    else if (*object)
        length = asprintf(&place, "[%s]", hr_base_name(object));
    else
        length = asprintf(&place, "<unknown>");
    if (length < 0)
        return -ENOMEM;

    length = asprintf(&name, "%s%s%s", address, function, place);
    free(place);
    if (length < 0)
        return -ENOMEM;
    make_printable(name);
    node->name = hr_string_intern(model, name, (size_t)length);
    free(name);
    return node->name == HR_NONE ? -ENOMEM : 0;
}

/* The path without "//", "/./" and "dir/..", as compilers like to leave them. */
static hr_string clean_path(struct hr_model *model, hr_string path)
{
    const char *text = hr_string_text(model, path);

    if (*text != '.' && !strstr(text, "//") && !strstr(text, "/."))
        return path;

    char *clean = malloc(strlen(text) + 2), *end = clean;
    bool rooted = *text == '/';

    if (!clean)
        return HR_NONE;
    if (rooted)
        *end++ = '/';

    char *root = end; /* ".." takes nothing away before it */

    for (size_t n; *text; text += n + (text[n] == '/')) {
        n = strcspn(text, "/");

        bool up = n == 2 && memcmp(text, "..", 2) == 0;

        if (n == 0 || (n == 1 && *text == '.') || (up && rooted && end == root))
            continue;
        if (up && end > root) {
            while (end > root && end[-1] != '/')
                end--;
            end -= end > root; /* the slash before the folder */
            continue;
        }
        if (end > root)
            *end++ = '/';
        memcpy(end, text, n);
        end += n;
        if (up) {
            *end++ = '/';
            root = end;
        }
    }
    if (end > clean + 1 && end[-1] == '/')
        end--;

    hr_string cleaned = hr_string_intern(model, clean, (size_t)(end - clean));

    free(clean);
    return cleaned;
}

static uint32_t intern_node(struct making *making, const struct hr_node *key)
{
    struct hr_nodes *to = making->to;
    uint64_t hash = hash_node(key);

    if (making->slot_count) {
        uint32_t mask = making->slot_count - 1;

        for (uint32_t i = (uint32_t)hash & mask; making->slots[i]; i = (i + 1) & mask)
            if (same_node(&to->nodes[making->slots[i] - 1], key))
                return making->slots[i] - 1;
    }
    if (grow(making) < 0)
        return HR_NONE;

    struct hr_node *node = &to->nodes[to->count];

    *node = *key;
    if (name_node(making->model, node) < 0)
        return HR_NONE;
    put(making, hash, to->count);
    return to->count++;
}

/* frame NULL: the location has no names. */
static uint32_t node_of(struct making *making, const struct hr_location *location,
                        const struct hr_frame *frame)
{
    const struct hr_model *model = making->model;
    struct hr_node key = {0};

    if (making->granularity == HR_ADDRESSES)
        key.address = location->address;
    if (frame) {
        key.function = frame->function;
        if (making->granularity != HR_FUNCTIONS) {
            key.file = clean_path(making->model, frame->file);
            key.line = frame->line;
            if (key.file == HR_NONE)
                return HR_NONE;
        }
    }
    if (!key.function && location->mapping != HR_NONE)
        key.object = model->mappings[location->mapping].path;
    return intern_node(making, &key);
}

static int make(struct making *making)
{
    const struct hr_model *model = making->model;
    struct hr_nodes *to = making->to;
    uint32_t used = 0;

    to->locations = calloc((size_t)model->location_count + 1, sizeof(*to->locations));
    to->frame_nodes =
        malloc(((size_t)model->location_count + model->frame_count + 1) * sizeof(*to->frame_nodes));
    if (!to->locations || !to->frame_nodes)
        return -ENOMEM;
    for (uint32_t i = 0; i < model->location_count; i++) {
        const struct hr_location *location = &model->locations[i];
        uint32_t count = location->frame_count ? location->frame_count : 1;

        to->locations[i] = (struct hr_span){used, count};
        for (uint32_t k = 0; k < count; k++) {
            const struct hr_frame *frame =
                location->frame_count ? &model->frames[location->frame_first + k] : NULL;
            uint32_t node = node_of(making, location, frame);

            if (node == HR_NONE)
                return -ENOMEM;
            to->frame_nodes[used++] = node;
        }
    }
    return 0;
}

int hr_nodes_make(struct hr_model *model, enum hr_granularity granularity,
                  struct hr_nodes *ret_nodes)
{
    struct hr_nodes nodes = {0};
    struct making making = {.model = model, .granularity = granularity, .to = &nodes};
    int r = make(&making);

    free(making.slots);
    if (r < 0) {
        hr_nodes_free(&nodes);
        return r;
    }
    *ret_nodes = nodes;
    return 0;
}

void hr_nodes_free(struct hr_nodes *nodes)
{
    free(nodes->nodes);
    free(nodes->frame_nodes);
    free(nodes->locations);
    *nodes = (struct hr_nodes){0};
}
