/* SPDX-License-Identifier: MIT */
/* heap_read.c - any bytes as a .heap file: read whole and in pieces, with the same outcome. */
#include "format/heap_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* All that the visitor was told, folded into one number; every byte of it is looked at. */
static uint64_t told;

static int on_header(const struct pp_header *header, void *arg)
{
    (void)arg;
    told = xp_hash_add(told, xp_hash_bytes(&header->totals, sizeof(header->totals)));
    told = xp_hash_add(told, (uint64_t)header->kind ^ (uint64_t)header->rate << 3);
    return 0;
}

static int on_row(const struct pp_row *row, uint64_t line, void *arg)
{
    (void)arg;
    if (row->depth > PP_DEPTH_MAX)
        abort();
    told = xp_hash_add(told, line);
    told = xp_hash_add(told, xp_hash_bytes(&row->counts, sizeof(row->counts)));
    told = xp_hash_add(told, xp_hash_bytes(row->pcs, row->depth * sizeof(row->pcs[0])));
    return 0;
}

static int on_comment(const char *text, size_t length, uint64_t line, void *arg)
{
    char *plain = malloc(length + 1);

    (void)arg;
    told = xp_hash_add(told, line);
    size_t n = pp_comment_unescape(text, length, plain);
    if (n > length)
        abort();
    told = xp_hash_add(told, xp_hash_bytes(plain, n));
    free(plain);
    return 0;
}

static int on_mapping(const struct pp_mapping *m, uint64_t line, void *arg)
{
    (void)arg;
    if (m->start >= m->limit || (m->build_id && strlen(m->build_id) != m->build_id_length))
        abort();
    told = xp_hash_add(told, line);
    told = xp_hash_add(told, m->start ^ m->limit ^ m->offset ^ m->device ^ m->inode);
    told = xp_hash_add(told, xp_hash_bytes(m->path, m->path_length));
    if (m->build_id)
        told = xp_hash_add(told, xp_hash_bytes(m->build_id, m->build_id_length));
    return 0;
}

static int on_symbol(uint64_t address, const char *name, size_t length, void *arg)
{
    (void)arg;
    told = xp_hash_add(told, address);
    told = xp_hash_add(told, xp_hash_bytes(name, length));
    return 0;
}

/* Reads in pieces and returns what was told, the error included. */
static uint64_t read_by(struct pp_heap_reader *reader, const char *bytes, size_t size, size_t piece)
{
    static const struct pp_heap_visitor visitor = {on_header, on_row, on_comment, on_mapping,
                                                   on_symbol};
    struct pp_error error = {0};
    int r = 0;

    told = 0;
    pp_heap_reader_init(reader, &visitor, NULL);
    for (size_t at = 0; at < size && r == 0; at += piece)
        r = pp_heap_reader_push(reader, bytes + at, size - at < piece ? size - at : piece, &error);
    if (r == 0)
        r = pp_heap_reader_finish(reader, &error);
    if (r != error.code || (r < 0 && strlen(error.text) == 0))
        abort();
    told = xp_hash_add(told, (uint64_t)-error.code << 32 ^ error.line);
    return xp_hash_add(told, xp_hash_bytes(error.text, strlen(error.text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = {1, 7, 4096};
    const char *bytes = (const char *)data;
    struct pp_heap_reader *reader = malloc(pp_heap_reader_size());

    pp_heap_detect(bytes, size);
    uint64_t whole = read_by(reader, bytes, size, size + 1);
    for (size_t i = 0; i < XP_ARRAY_LENGTH(pieces); i++) {
        if (read_by(reader, bytes, size, pieces[i]) != whole)
            abort();
    }
    free(reader);
    return 0;
}
