/* SPDX-License-Identifier: MIT */
/* dwarf_lines.c - runs line number programs and keeps the file table of one. */
#include "report/dwarf_lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libdwarf/dwarf.h>

#define FORMATS_MAX 32u

struct file {
    const char *name; /* terminated, in a section */
    uint64_t directory;
    char *path; /* made when asked for */
};

struct hr_lines {
    struct hr_lines_input input;
    uint16_t version;
    bool wide; /* 64-bit DWARF */
    uint8_t min_length, line_range, opcode_base;
    bool default_is_stmt;
    int8_t line_base;
    const uint8_t *lengths; /* of the operands of standard opcodes, from opcode 1 */
    const uint8_t *program, *end;
    const char **directories;
    uint32_t directory_count;
    struct file *files; /* DWARF 5: from number 0; before: from number 1 */
    uint32_t file_count;
};

/* ---- reading inside of bounds ---- */

struct reader {
    const uint8_t *at, *end;
    bool bad; /* read past the end; all that follows reads as 0 */
};

static uint64_t get(struct reader *r, unsigned size)
{
    uint64_t value = 0;
    if (r->bad || (uint64_t)(r->end - r->at) < size) {
        r->bad = true;
        return 0;
    }
    memcpy(&value, r->at, size); /* little endian, like the file */
    r->at += size;
    return value;
}

static uint64_t get_uleb(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint64_t byte = get(r, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static int64_t get_sleb(struct reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint64_t byte = get(r, 1);
        if (shift < 64)
            value |= (byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift < 64)
            value |= ~UINT64_C(0) << shift;
        return (int64_t)value;
    }
}

static void skip(struct reader *r, uint64_t size)
{
    if (r->bad || size > (uint64_t)(r->end - r->at))
        r->bad = true;
    else
        r->at += size;
}

static const char *get_string(struct reader *r)
{
    if (r->bad)
        return "";
    const char *text = (const char *)r->at;
    size_t length = strnlen(text, (size_t)(r->end - r->at));
    skip(r, length + 1);
    return r->bad ? "" : text;
}

static const char *string_at(const uint8_t *section, uint64_t size, uint64_t offset)
{
    if (!section || offset >= size || !memchr(section + offset, 0, size - offset))
        return "";
    return (const char *)section + offset;
}

/* ---- header ---- */

static bool add_directory(struct hr_lines *l, const char *name)
{
    if ((l->directory_count & (l->directory_count + 1)) == 0) { /* at 0, 1, 3, 7, ...: doubles */
        const char **larger =
            realloc(l->directories, (l->directory_count * (size_t)2 + 2) * sizeof(*l->directories));
        if (!larger)
            return false;
        l->directories = larger;
    }
    l->directories[l->directory_count++] = name;
    return true;
}

static bool add_file(struct hr_lines *l, const char *name, uint64_t directory)
{
    if ((l->file_count & (l->file_count + 1)) == 0) {
        struct file *larger =
            realloc(l->files, (l->file_count * (size_t)2 + 2) * sizeof(*l->files));
        if (!larger)
            return false;
        l->files = larger;
    }
    l->files[l->file_count++] = (struct file){.name = name, .directory = directory};
    return true;
}

static int read_old_tables(struct hr_lines *l, struct reader *r)
{
    for (;;) {
        const char *name = get_string(r);
        if (r->bad)
            return -ENOEXEC;
        if (!*name)
            break;
        if (!add_directory(l, name))
            return -ENOMEM;
    }
    for (;;) {
        const char *name = get_string(r);
        if (r->bad)
            return -ENOEXEC;
        if (!*name)
            return 0;
        uint64_t directory = get_uleb(r);
        get_uleb(r); /* time */
        get_uleb(r); /* size */
        if (!add_file(l, name, directory))
            return -ENOMEM;
    }
}

struct format {
    uint64_t content, form;
};

static void read_field(struct hr_lines *l, struct reader *r, const struct format *format,
                       const char **name, uint64_t *directory)
{
    const struct hr_lines_input *in = &l->input;
    const char *text = "";
    uint64_t number = 0;
    switch (format->form) {
    case DW_FORM_string:
        text = get_string(r);
        break;
    case DW_FORM_line_strp:
        text = string_at(in->line_str, in->line_str_size, get(r, l->wide ? 8 : 4));
        break;
    case DW_FORM_strp:
        text = string_at(in->str, in->str_size, get(r, l->wide ? 8 : 4));
        break;
    case DW_FORM_strp_sup:
        get(r, l->wide ? 8 : 4);
        break;
    case DW_FORM_udata:
    case DW_FORM_strx:
        number = get_uleb(r);
        break;
    case DW_FORM_data1:
    case DW_FORM_strx1:
        number = get(r, 1);
        break;
    case DW_FORM_data2:
    case DW_FORM_strx2:
        number = get(r, 2);
        break;
    case DW_FORM_strx3:
        number = get(r, 3);
        break;
    case DW_FORM_data4:
    case DW_FORM_strx4:
        number = get(r, 4);
        break;
    case DW_FORM_data8:
        number = get(r, 8);
        break;
    case DW_FORM_data16:
        skip(r, 16);
        break;
    case DW_FORM_block:
        skip(r, get_uleb(r));
        break;
    default:
        r->bad = true;
    }
    if (format->content == DW_LNCT_path)
        *name = text;
    else if (format->content == DW_LNCT_directory_index)
        *directory = number;
}

static int read_new_table(struct hr_lines *l, struct reader *r, bool files)
{
    struct format formats[FORMATS_MAX];
    uint64_t format_count = get(r, 1);
    if (format_count > FORMATS_MAX)
        return -ENOEXEC;
    for (uint64_t i = 0; i < format_count; i++) {
        formats[i].content = get_uleb(r);
        formats[i].form = get_uleb(r);
    }
    uint64_t count = get_uleb(r);
    if (r->bad || (format_count == 0 && count > 0))
        return -ENOEXEC;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = "";
        uint64_t directory = 0;
        const uint8_t *before = r->at;
        for (uint64_t f = 0; f < format_count; f++)
            read_field(l, r, &formats[f], &name, &directory);
        if (r->bad || r->at == before) /* else a count could ask for any number of nothings */
            return -ENOEXEC;
        if (!(files ? add_file(l, name, directory) : add_directory(l, name)))
            return -ENOMEM;
    }
    return 0;
}

static int read_header(struct hr_lines *l)
{
    const struct hr_lines_input *in = &l->input;
    if (!in->line || in->offset >= in->line_size)
        return -ENOEXEC;
    struct reader r = {.at = in->line + in->offset, .end = in->line + in->line_size};
    uint64_t length = get(&r, 4);
    l->wide = length == 0xffffffff;
    if (l->wide)
        length = get(&r, 8);
    if (r.bad || length > (uint64_t)(r.end - r.at))
        return -ENOEXEC;
    r.end = r.at + length;
    l->end = r.end;
    l->version = (uint16_t)get(&r, 2);
    if (l->version < 2 || l->version > 5)
        return -ENOEXEC;
    if (l->version >= 5)
        get(&r, 2); /* sizes of addresses and segments */
    uint64_t header_length = get(&r, l->wide ? 8 : 4);
    if (r.bad || header_length > (uint64_t)(r.end - r.at))
        return -ENOEXEC;
    l->program = r.at + header_length;
    r.end = l->program;
    l->min_length = (uint8_t)get(&r, 1);
    if (l->version >= 4)
        get(&r, 1); /* operations per instruction: 1 on this machine */
    l->default_is_stmt = get(&r, 1) != 0;
    l->line_base = (int8_t)get(&r, 1);
    l->line_range = (uint8_t)get(&r, 1);
    l->opcode_base = (uint8_t)get(&r, 1);
    l->lengths = r.at;
    if (l->opcode_base == 0 || l->line_range == 0)
        return -ENOEXEC;
    skip(&r, l->opcode_base - 1u);
    if (r.bad)
        return -ENOEXEC;
    if (l->version < 5)
        return read_old_tables(l, &r);
    int status = read_new_table(l, &r, false);
    return status < 0 ? status : read_new_table(l, &r, true);
}

int hr_lines_open(const struct hr_lines_input *input, struct hr_lines **ret_lines)
{
    struct hr_lines *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    l->input = *input;
    int r = read_header(l);
    if (r < 0) {
        hr_lines_close(l);
        return r;
    }
    *ret_lines = l;
    return 0;
}

void hr_lines_close(struct hr_lines *l)
{
    if (!l)
        return;
    for (uint32_t i = 0; i < l->file_count; i++)
        free(l->files[i].path);
    free(l->files);
    free(l->directories);
    free(l);
}

/* ---- rows ---- */

struct machine {
    uint64_t address, file, line;
    uint64_t sequence; /* address of its first row */
    bool in_sequence;  /* the row before is one of this sequence */
    uint64_t row_address, row_file, row_line;
};

static void reset(struct machine *m)
{
    *m = (struct machine){.file = 1, .line = 1};
}

/* Appends a row: with it, the row before is known to reach up to here. Where the linker dropped the
 * code, sequences start at 0 (or 1). */
static void add_row(struct machine *m, void (*take)(uint64_t, uint64_t, uint64_t, uint64_t, void *),
                    void *context)
{
    if (!m->in_sequence)
        m->sequence = m->address;
    else if (m->row_address < m->address && m->sequence > 1)
        take(m->row_address, m->address, m->row_file, m->row_line, context);
    m->in_sequence = true;
    m->row_address = m->address;
    m->row_file = m->file;
    m->row_line = m->line;
}

static bool extended(struct reader *r, struct machine *m)
{
    uint64_t length = get_uleb(r);
    if (r->bad || length == 0 || length > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return false;
    }
    const uint8_t *next = r->at + length;
    uint8_t opcode = (uint8_t)get(r, 1);
    if (opcode == DW_LNE_set_address && length <= 9)
        m->address = get(r, (unsigned)length - 1);
    r->at = next;
    return opcode == DW_LNE_end_sequence;
}

int hr_lines_each(struct hr_lines *l, void (*take)(uint64_t, uint64_t, uint64_t, uint64_t, void *),
                  void *context)
{
    struct reader r = {.at = l->program, .end = l->end};
    struct machine m;
    reset(&m);
    while (r.at < r.end && !r.bad) {
        uint8_t opcode = (uint8_t)get(&r, 1);
        if (opcode >= l->opcode_base) {
            unsigned special = opcode - l->opcode_base;
            m.address += (uint64_t)(special / l->line_range) * l->min_length;
            m.line += (uint64_t)(int64_t)(l->line_base + (int)(special % l->line_range));
            add_row(&m, take, context);
            continue;
        }
        switch (opcode) {
        case 0:
            if (extended(&r, &m)) {
                add_row(&m, take, context);
                reset(&m);
            }
            break;
        case DW_LNS_copy:
            add_row(&m, take, context);
            break;
        case DW_LNS_advance_pc:
            m.address += get_uleb(&r) * l->min_length;
            break;
        case DW_LNS_advance_line:
            m.line += (uint64_t)get_sleb(&r);
            break;
        case DW_LNS_set_file:
            m.file = get_uleb(&r);
            break;
        case DW_LNS_const_add_pc:
            m.address += (uint64_t)((255u - l->opcode_base) / l->line_range) * l->min_length;
            break;
        case DW_LNS_fixed_advance_pc:
            m.address += get(&r, 2);
            break;
        default: /* columns, statement and block flags, and what a later standard may add */
            for (uint8_t i = l->lengths[opcode - 1]; i > 0; i--)
                get_uleb(&r);
        }
    }
    return r.bad ? -ENOEXEC : 0;
}

/* ---- files ---- */

/* Up to three parts; an absolute one cuts what stands before it. */
static char *join_path(const char *a, const char *b, const char *c)
{
    const char *parts[] = {a ? a : "", b ? b : "", c ? c : ""};
    size_t first = 0, length = 0, at = 0;
    for (size_t i = 0; i < 3; i++) {
        if (parts[i][0] == '/')
            first = i;
        length += strlen(parts[i]) + 1;
    }
    char *path = malloc(length + 1);
    if (!path)
        return NULL;
    for (size_t i = first; i < 3; i++) {
        size_t n = strlen(parts[i]);
        if (n == 0)
            continue;
        if (at > 0 && path[at - 1] != '/')
            path[at++] = '/';
        memcpy(path + at, parts[i], n);
        at += n;
    }
    path[at] = 0;
    return path;
}

const char *hr_lines_file(struct hr_lines *l, uint64_t number)
{
    uint64_t base = l->version >= 5 ? 0 : 1; /* the numbers of the first file and directory */
    if (number < base || number - base >= l->file_count)
        return NULL;
    struct file *file = &l->files[number - base];
    if (!file->path) {
        const char *directory = NULL;
        if (file->directory >= base && file->directory - base < l->directory_count)
            directory = l->directories[file->directory - base];
        file->path = join_path(l->input.directory, directory, file->name);
    }
    return file->path;
}
