/* SPDX-License-Identifier: MIT */
/* heap_write.c - a .heap text profile, written piece by piece in the order of the file. */
#include "format/heap_write.h"

#include "base/panic.h"

/* Go's reader gives up at lines of 64 KiB. */
#define COMMENT_MAX ((size_t)60000)

static void counts(struct xp_out *out, const struct pp_counts *c)
{
    xp_out_signed(out, c->inuse_objects, 6);
    xp_out_text(out, ": ");
    xp_out_signed(out, c->inuse_bytes, 8);
}

void pp_heap_write_header(struct xp_out *out, const struct pp_counts *totals)
{
    xp_out_text(out, "heap profile: ");
    counts(out, totals);
    xp_out_text(out, " [0");
    xp_out_signed(out, totals->alloc_objects, 0);
    xp_out_text(out, ": ");
    xp_out_signed(out, totals->alloc_bytes, 0);
    xp_out_text(out, "] @ heapprofile\n");
}

/* How much of value fits when escaped; never half a UTF-8 sequence. */
static size_t fitting(const char *value, size_t length)
{
    size_t room = COMMENT_MAX, n = 0;

    while (n < length) {
        unsigned char c = (unsigned char)value[n];
        size_t need = c == '\n' || c == '\\' ? 2 : c < 32 || c == 127 ? 4 : 1;
        if (need > room)
            break;
        room -= need;
        n++;
    }
    if (n < length) {
        while (n > 0 && ((unsigned char)value[n] & 0xc0) == 0x80)
            n--;
    }
    return n;
}

void pp_heap_write_comment(struct xp_out *out, const char *key, const char *value, size_t length)
{
    xp_out_text(out, "# ");
    xp_out_text(out, key);
    if (length > 0) {
        xp_out_char(out, ' ');
        xp_out_escaped(out, value, fitting(value, length));
    }
    xp_out_char(out, '\n');
}

void pp_heap_write_row(struct xp_out *out, const struct pp_row *row)
{
    const struct pp_counts *c = &row->counts;

    XP_ASSERT(c->inuse_bytes == 0 || c->inuse_objects > 0);
    XP_ASSERT(c->alloc_bytes == 0 || c->alloc_objects > 0);
    counts(out, c);
    xp_out_text(out, " [");
    xp_out_signed(out, c->alloc_objects, 6);
    xp_out_text(out, ": ");
    xp_out_signed(out, c->alloc_bytes, 8);
    xp_out_text(out, "] @");
    for (size_t i = 0; i < row->depth; i++) {
        xp_out_text(out, " 0x");
        xp_out_hex(out, row->pcs[i], 8);
    }
    xp_out_char(out, '\n');
}

void pp_heap_write_maps_start(struct xp_out *out)
{
    xp_out_text(out, "\nMAPPED_LIBRARIES:\n");
}

void pp_heap_write_build_id(struct xp_out *out, uint64_t start, uint64_t limit,
                            const unsigned char *id, size_t size)
{
    xp_out_text(out, "# " PP_KEY_BUILD_ID " ");
    xp_out_hex(out, start, 8);
    xp_out_char(out, '-');
    xp_out_hex(out, limit, 8);
    xp_out_char(out, ' ');
    for (size_t i = 0; i < size; i++)
        xp_out_hex(out, id[i], 2);
    xp_out_char(out, '\n');
}

void pp_heap_write_mapping(struct xp_out *out, const struct pp_mapping *mapping)
{
    xp_out_hex(out, mapping->start, 8);
    xp_out_char(out, '-');
    xp_out_hex(out, mapping->limit, 8);
    xp_out_char(out, ' ');
    xp_out_char(out, mapping->readable ? 'r' : '-');
    xp_out_char(out, mapping->writable ? 'w' : '-');
    xp_out_char(out, mapping->executable ? 'x' : '-');
    xp_out_char(out, mapping->is_private ? 'p' : 's');
    xp_out_char(out, ' ');
    xp_out_hex(out, mapping->offset, 8);
    xp_out_char(out, ' ');
    xp_out_hex(out, mapping->device >> 32, 2);
    xp_out_char(out, ':');
    xp_out_hex(out, mapping->device & 0xffffffff, 2);
    xp_out_char(out, ' ');
    xp_out_unsigned(out, mapping->inode, 0);
    if (mapping->path_length > 0) {
        xp_out_char(out, ' ');
        for (size_t i = 0; i < mapping->path_length; i++) {
            /* As the kernel does it, so that the line stays one. */
            if (mapping->path[i] == '\n')
                xp_out_text(out, "\\012");
            else
                xp_out_char(out, mapping->path[i]);
        }
    }
    xp_out_char(out, '\n');
}

void pp_heap_write_end(struct xp_out *out)
{
    xp_out_text(out, "# " PP_KEY_END "\n");
}
