/* SPDX-License-Identifier: MIT */
/* dump.c - writes the profile of this moment to a descriptor. */
#include "profile/dump.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/meta.h"
#include "base/os.h"
#include "capture/capture.h"
#include "capture/tree.h"
#include "core/heap.h"
#include "format/heap_write.h"
#include "profile/maps.h"
#include "profile/sums.h"
#include "profile/table.h"

/* The entry point comes on top of the frames. */
#define PCS_MAX (XP_DEPTH_MAX + 1)

/* Too large for a thread's stack. */
struct workspace {
    uintptr_t pcs[PCS_MAX];
    char buffer[(size_t)64 << 10];
};

_Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "rows take the pcs as they are");

struct gathering {
    struct xp_table table;
    bool failed; /* no memory for a row */
};

static void gather_record(const struct xp_record *record, void *block, void *arg)
{
    struct gathering *g = arg;

    (void)block;
    if (g->failed)
        return;
    struct xp_table_row *row = xp_table_row(&g->table, record->node, record->row_class);
    if (!row) {
        g->failed = true;
        return;
    }
    row->inuse_objects += record->weight;
    row->inuse_bytes += record->weight * (double)record->size;
}

static bool gather_sum(uint32_t node, unsigned row_class, double objects, double bytes, void *arg)
{
    struct gathering *g = arg;
    struct xp_table_row *row = g->failed ? NULL : xp_table_row(&g->table, node, row_class);

    if (!row) {
        g->failed = true;
        return false;
    }
    row->alloc_objects += objects;
    row->alloc_bytes += bytes;
    return true;
}

/* Records first: what lives then is in the sums that are read after it. */
static int gather(struct gathering *g)
{
    if (xp_table_init(&g->table, xp_sums_count() + 64) < 0)
        return -ENOMEM;
    xp_heap_each_record(gather_record, g);
    xp_sums_each(gather_sum, g);
    return g->failed ? -ENOMEM : 0;
}

static bool is_empty(const struct pp_counts *c)
{
    return c->inuse_objects == 0 && c->alloc_objects == 0;
}

static void write_rows(struct xp_out *out, const struct xp_table *table, uint64_t seed,
                       uintptr_t *pcs, bool *ret_has_nested)
{
    bool has_nested = false;

    for (size_t i = 0; i < table->count && out->error == 0; i++) {
        struct pp_row row = {.pcs = pcs};
        xp_table_round(&table->rows[i], seed, &row.counts);
        if (is_empty(&row.counts))
            continue;
        row.depth = xp_tree_pcs(table->rows[i].node, pcs, PCS_MAX);
        has_nested |= table->rows[i].node == XP_NODE_NESTED;
        pp_heap_write_row(out, &row);
    }
    *ret_has_nested = has_nested;
}

static struct pp_counts total_of(const struct xp_table *table, uint64_t seed)
{
    struct pp_counts total = {0};

    for (size_t i = 0; i < table->count; i++) {
        struct pp_counts c;
        xp_table_round(&table->rows[i], seed, &c);
        total.inuse_objects += c.inuse_objects;
        total.inuse_bytes += c.inuse_bytes;
        total.alloc_objects += c.alloc_objects;
        total.alloc_bytes += c.alloc_bytes;
    }
    return total;
}

/* How many bytes the descriptor takes before the kernel answers with SIGXFSZ; 0: any number. */
static uint64_t room_of(int fd)
{
    struct rlimit64 limit;
    struct stat st;

    if (xp_os_getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM64_INFINITY ||
        xp_os_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    uint64_t size = (uint64_t)st.st_size;
    /* 1: not even the header fits, but 0 would mean that all does. */
    return limit.rlim_cur > size ? limit.rlim_cur - size : 1;
}

int xp_dump_write(int fd, const struct xp_facts *facts, uint64_t seed)
{
    struct gathering g = {.failed = false};
    struct workspace *work = xp_meta_map(sizeof(*work));
    struct xp_maps maps = {0};
    struct xp_out out;
    bool has_nested;

    int r = work ? gather(&g) : -ENOMEM;
    if (r < 0)
        goto out;

    xp_out_init(&out, fd, work->buffer, sizeof(work->buffer));
    out.limit = room_of(fd);
    xp_maps_read(&maps);
    struct pp_counts total = total_of(&g.table, seed);
    pp_heap_write_header(&out, &total);
    xp_facts_write(&out, facts);
    write_rows(&out, &g.table, seed, work->pcs, &has_nested);
    xp_maps_write(&maps, &out, has_nested);
    pp_heap_write_end(&out);
    r = xp_out_flush(&out);
out:
    xp_maps_fini(&maps);
    xp_table_fini(&g.table);
    xp_meta_unmap(work, sizeof(*work));
    return r;
}
