/* SPDX-License-Identifier: MIT */
/* maps_line.c - any bytes as a line of /proc/PID/maps; what is read is written and read again. */
#include "format/maps_line.h"

#include <stdlib.h>
#include <string.h>

#include "format/heap_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct pp_mapping *m, size_t size)
{
    struct pp_mapping again;
    struct xp_out out;
    char *line = malloc(4 * size + 128);

    xp_out_init(&out, -1, line, 4 * size + 128);
    pp_heap_write_mapping(&out, m);
    if (out.error < 0 || pp_maps_line(line, out.length - 1, &again) < 0)
        abort();
    if (again.start != m->start || again.limit != m->limit || again.offset != m->offset ||
        again.inode != m->inode || again.device != m->device || again.executable != m->executable ||
        again.writable != m->writable || again.readable != m->readable ||
        again.is_private != m->is_private)
        abort();
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *line = (const char *)data;
    struct pp_mapping m;

    if (pp_maps_line(line, size, &m) < 0)
        return 0;
    if (m.path_length > size || m.build_id_length > size || m.start >= m.limit)
        abort();
    if (m.path_length > 0 && (m.path < line || m.path + m.path_length > line + size))
        abort();
    if (m.build_id && (m.build_id < line || m.build_id + m.build_id_length > line + size))
        abort();
    check_again(&m, size);
    return 0;
}
