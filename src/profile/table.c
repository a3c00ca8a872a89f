/* SPDX-License-Identifier: MIT */
/* table.c - the rows of one dump: estimates gathered, then rounded. */
#include "profile/table.h"

#include <errno.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/meta.h"

#define CAPACITY_MIN ((size_t)256)
#define CAPACITY_MAX ((size_t)1 << 30)

static uint64_t row_hash(uint32_t node, unsigned row_class)
{
    return xp_hash_word((uint64_t)node << 16 | row_class);
}

static uint32_t *slot_of(const struct xp_table *table, uint32_t node, unsigned row_class)
{
    size_t mask = 2 * table->capacity - 1;

    for (size_t i = row_hash(node, row_class) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &table->index[i];
        if (*slot == 0)
            return slot;
        const struct xp_table_row *row = &table->rows[*slot - 1];
        if (row->node == node && row->row_class == row_class)
            return slot;
    }
}

static int map_table(struct xp_table *table, size_t capacity)
{
    size_t rows_bytes = capacity * sizeof(struct xp_table_row);
    size_t map_bytes = rows_bytes + 2 * capacity * sizeof(uint32_t);

    char *start = xp_meta_map(map_bytes);
    if (!start)
        return -ENOMEM;
    table->rows = (struct xp_table_row *)start;
    table->index = (uint32_t *)(start + rows_bytes);
    table->capacity = capacity;
    table->map_bytes = map_bytes;
    return 0;
}

int xp_table_init(struct xp_table *table, size_t expected)
{
    size_t capacity = CAPACITY_MIN;

    if (expected > CAPACITY_MAX)
        return -ENOMEM;
    while (capacity < expected)
        capacity *= 2;
    *table = (struct xp_table){0};
    return map_table(table, capacity);
}

void xp_table_fini(struct xp_table *table)
{
    xp_meta_unmap(table->rows, table->map_bytes);
    *table = (struct xp_table){0};
}

static bool grow(struct xp_table *table)
{
    struct xp_table larger = {.count = table->count};

    if (table->capacity >= CAPACITY_MAX || map_table(&larger, 2 * table->capacity) < 0)
        return false;
    memcpy(larger.rows, table->rows, table->count * sizeof(larger.rows[0]));
    for (size_t i = 0; i < larger.count; i++)
        *slot_of(&larger, larger.rows[i].node, larger.rows[i].row_class) = (uint32_t)i + 1;
    xp_table_fini(table);
    *table = larger;
    return true;
}

struct xp_table_row *xp_table_row(struct xp_table *table, uint32_t node, unsigned row_class)
{
    uint32_t *slot = slot_of(table, node, row_class);

    if (*slot == 0) {
        if (table->count == table->capacity) {
            if (!grow(table))
                return NULL;
            slot = slot_of(table, node, row_class);
        }
        struct xp_table_row *row = &table->rows[table->count];
        row->node = node;
        row->row_class = row_class;
        *slot = (uint32_t)++table->count;
    }
    return &table->rows[*slot - 1];
}

/* floor(x + u); whole numbers stay as they are however large. Kept within what an int64_t and the
 * sums of many rows can hold. */
static int64_t round_by(double x, double u)
{
    if (!(x > 0))
        return 0;
    if (x >= 0x1p60)
        return (int64_t)1 << 60;
    int64_t whole = (int64_t)x;
    return whole + (x - (double)whole + u >= 1);
}

static double unit(uint64_t hash)
{
    return (double)(hash >> 11) * 0x1p-53;
}

void xp_table_round(const struct xp_table_row *row, uint64_t seed, struct pp_counts *ret_counts)
{
    uint64_t hash = xp_hash_add(xp_hash_add(seed, row->node), row->row_class);
    double u_objects = unit(hash), u_bytes = unit(xp_hash_add(hash, 1));
    /* A block grown in place, or seen before its sum: in use must not exceed allocated. */
    double alloc_objects =
        row->alloc_objects > row->inuse_objects ? row->alloc_objects : row->inuse_objects;
    double alloc_bytes = row->alloc_bytes > row->inuse_bytes ? row->alloc_bytes : row->inuse_bytes;
    struct pp_counts c = {
        .inuse_objects = round_by(row->inuse_objects, u_objects),
        .inuse_bytes = round_by(row->inuse_bytes, u_bytes),
        .alloc_objects = round_by(alloc_objects, u_objects),
        .alloc_bytes = round_by(alloc_bytes, u_bytes),
    };

    if (c.inuse_bytes > 0 && c.inuse_objects == 0)
        c.inuse_objects = 1;
    if (c.alloc_bytes > 0 && c.alloc_objects == 0)
        c.alloc_objects = 1;
    *ret_counts = c;
}
