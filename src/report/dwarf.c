/* SPDX-License-Identifier: MIT */
/* dwarf.c - from addresses to units, and in each unit to rows of the line table and functions. */
#include "report/dwarf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/addresses.h"
#include "report/dwarf_state.h"

/* ---- units ---- */

/* First index into d->indexes whose address is >= value. */
uint32_t hr_dwarf_first_in_unit(const struct dwarf *d, uint64_t value)
{
    uint32_t low = 0, high = d->index_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->query->addresses[d->indexes[middle]] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void choose_unit(struct dwarf *d, uint64_t low, uint64_t high, void *context)
{
    struct unit *unit = context;
    const struct hr_dwarf_query *q = d->query;
    for (uint32_t i = hr_addresses_first_from(q->addresses, q->count, low);
         i < q->count && q->addresses[i] < high; i++) {
        struct place *place = &d->places[i];
        if (place->unit && place->width <= high - low)
            continue;
        place->unit = (uint32_t)(unit - d->units.items) + 1;
        place->width = high - low;
    }
}

/* Appends the next unit of a file and gives its DIE, which may be NULL. 0 at the end, 1 else. */
static int next_unit(struct dwarf *d, Dwarf_Debug dbg, struct unit_list *list, Dwarf_Die *ret_die,
                     bool *ret_has_code)
{
    Dwarf_Unsigned header_length, type_offset, next;
    Dwarf_Half version, address_size, length_size, extension_size, unit_type;
    Dwarf_Off abbrev, offset = 0;
    Dwarf_Sig8 signature;
    Dwarf_Die die = NULL;
    Dwarf_Error error = NULL;
    int r = dwarf_next_cu_header_d(dbg, true, &header_length, &version, &abbrev, &address_size,
                                   &length_size, &extension_size, &signature, &type_offset, &next,
                                   &unit_type, &error);
    if (r == DW_DLV_NO_ENTRY)
        return 0;
    if (r == DW_DLV_ERROR)
        return hr_dwarf_failed(d, error);
    if (!hr_dwarf_grow(d, (void **)&list->items, list->count, &list->room, sizeof(*list->items)))
        return -ENOMEM;
    r = dwarf_siblingof_b(dbg, NULL, true, &die, &error);
    if (r == DW_DLV_OK)
        r = dwarf_dieoffset(die, &offset, &error);
    if (r == DW_DLV_OK) {
        list->items[list->count++] =
            (struct unit){.die_offset = offset, .end = next, .version = version};
    } else {
        if (r == DW_DLV_ERROR) {
            d->notes->damaged_units++;
            hr_dwarf_failed(d, error);
        }
        hr_dwarf_free_die(dbg, die);
        die = NULL;
    }
    *ret_die = die;
    *ret_has_code = unit_type != DW_UT_type && unit_type != DW_UT_split_type;
    return 1;
}

static int list_units(struct dwarf *d)
{
    Dwarf_Die die;
    bool has_code;
    int r;
    while ((r = next_unit(d, d->dbg, &d->units, &die, &has_code)) > 0) {
        if (!die)
            continue;
        struct unit *unit = d->unit = &d->units.items[d->units.count - 1];
        Dwarf_Error error = NULL;
        Dwarf_Addr low;
        int status = dwarf_lowpc(die, &low, &error);
        if (status == DW_DLV_OK)
            unit->base = low;
        else if (status == DW_DLV_ERROR)
            hr_dwarf_failed(d, error);
        if (has_code)
            unit->has_ranges = hr_dwarf_each_range(d, die, choose_unit, unit);
        hr_dwarf_free_die(d->dbg, die);
    }
    if (r == -ENOEXEC)
        d->notes->damaged_units++;
    return r;
}

static void list_alt_units(struct dwarf *d)
{
    Dwarf_Die die;
    bool has_code;
    while (next_unit(d, d->alt, &d->alt_units, &die, &has_code) > 0)
        hr_dwarf_free_die(d->alt, die);
}

struct unit *hr_dwarf_find_unit(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off offset)
{
    struct unit_list *list = dbg == d->alt ? &d->alt_units : &d->units;
    uint32_t low = 0;
    if (dbg == d->alt && list->count == 0)
        list_alt_units(d);
    for (uint32_t high = list->count; low < high;) {
        uint32_t middle = low + (high - low) / 2;
        if (list->items[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == list->count || list->items[low].die_offset > offset)
        return NULL;
    return &list->items[low];
}

/* Some producers give the unit no range and only list it in .debug_aranges. */
static void use_aranges(struct dwarf *d)
{
    bool missing = false, rangeless = false;
    for (uint32_t i = 0; i < d->query->count && !missing; i++)
        missing = !d->places[i].unit;
    for (uint32_t i = 0; i < d->units.count && !rangeless; i++)
        rangeless = !d->units.items[i].has_ranges;
    if (!missing || !rangeless)
        return;
    Dwarf_Arange *aranges;
    Dwarf_Signed count;
    Dwarf_Error error = NULL;
    int r = dwarf_get_aranges(d->dbg, &aranges, &count, &error);
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
    if (r != DW_DLV_OK)
        return;
    for (Dwarf_Signed i = 0; i < count; i++) {
        Dwarf_Unsigned segment, segment_size, length;
        Dwarf_Addr start;
        Dwarf_Off die_offset;
        error = NULL;
        r = dwarf_get_arange_info_b(aranges[i], &segment, &segment_size, &start, &length,
                                    &die_offset, &error);
        if (r == DW_DLV_ERROR)
            hr_dwarf_failed(d, error);
        struct unit *unit = r == DW_DLV_OK ? hr_dwarf_find_unit(d, d->dbg, die_offset) : NULL;
        if (unit && !unit->has_ranges && length < UINT64_MAX - start)
            hr_dwarf_give_range(d, start, start + length, choose_unit, unit);
        dwarf_dealloc(d->dbg, aranges[i], DW_DLA_ARANGE);
    }
    dwarf_dealloc(d->dbg, aranges, DW_DLA_LIST);
}

/* Every share computes the same split and keeps its own part. */
static void split_units(struct dwarf *d, bool *mine)
{
    const struct hr_dwarf_query *q = d->query;
    uint64_t sum = 0, before = 0;
    for (uint32_t i = 0; i < q->count; i++) {
        struct unit *unit = d->places[i].unit ? &d->units.items[d->places[i].unit - 1] : NULL;
        if (unit && !unit->hit) {
            unit->hit = true;
            sum += unit->end - unit->die_offset;
        }
    }
    for (uint32_t u = 0; u < d->units.count; u++) {
        struct unit *unit = &d->units.items[u];
        if (!unit->hit)
            continue;
        uint64_t share =
            (uint64_t)((__extension__(unsigned __int128) before * q->shares) / (sum ? sum : 1));
        before += unit->end - unit->die_offset;
        unit->hit = share == q->share;
    }
    for (uint32_t i = 0; i < q->count; i++)
        mine[i] = d->places[i].unit ? d->units.items[d->places[i].unit - 1].hit : q->share == 0;
}

/* ---- lines of the unit ---- */

static void use_row(uint64_t low, uint64_t high, uint64_t file, uint64_t line, void *context)
{
    struct dwarf *d = context;
    for (uint32_t i = hr_dwarf_first_in_unit(d, low);
         i < d->index_count && d->query->addresses[d->indexes[i]] < high; i++) {
        struct place *place = &d->places[d->indexes[i]];
        if (place->has_row)
            continue;
        place->has_row = true;
        place->file = hr_lines_file(d->lines, file);
        place->line = line <= UINT32_MAX ? (uint32_t)line : 0;
    }
}

static int read_lines(struct dwarf *d, Dwarf_Die die)
{
    struct hr_lines_input input = {.directory = hr_dwarf_text(d, die, DW_AT_comp_dir)};
    Dwarf_Attribute attribute;
    Dwarf_Error error = NULL;
    if (!hr_dwarf_attribute(d, die, DW_AT_stmt_list, &attribute))
        return 0;
    Dwarf_Off offset;
    int status = dwarf_global_formref(attribute, &offset, &error);
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
    if (status == DW_DLV_ERROR)
        return hr_dwarf_failed(d, error);
    input.offset = offset;
    hr_dwarf_section(&d->sections, ".debug_line", &input.line, &input.line_size);
    hr_dwarf_section(&d->sections, ".debug_line_str", &input.line_str, &input.line_str_size);
    hr_dwarf_section(&d->sections, ".debug_str", &input.str, &input.str_size);
    int r = hr_lines_open(&input, &d->lines);
    if (r == -ENOMEM)
        d->no_memory = true;
    return r < 0 ? r : hr_lines_each(d->lines, use_row, d);
}

/* ---- one unit ---- */

static bool has_scopes(struct dwarf *d, Dwarf_Die die)
{
    uint64_t language = 0;
    hr_dwarf_number(d, die, DW_AT_language, &language);
    switch (language) {
    case DW_LANG_C:
    case DW_LANG_C89:
    case DW_LANG_C99:
    case DW_LANG_C11:
    case DW_LANG_Mips_Assembler:
    case DW_LANG_Go:
        return false;
    default:
        return true;
    }
}

/* A skeleton has the lines; functions stand in a .dwo file. */
static bool is_skeleton(struct dwarf *d, Dwarf_Die die)
{
    const char *name = hr_dwarf_text(d, die, DW_AT_dwo_name);
    if (!name)
        name = hr_dwarf_text(d, die, DW_AT_GNU_dwo_name);
    if (!name)
        return false;
    d->notes->split_units++;
    snprintf(d->notes->split_name, sizeof(d->notes->split_name), "%s", name);
    return true;
}

static void read_unit(struct dwarf *d)
{
    Dwarf_Die die = NULL;
    Dwarf_Error error = NULL;
    if (dwarf_offdie_b(d->dbg, d->unit->die_offset, true, &die, &error) != DW_DLV_OK) {
        hr_dwarf_failed(d, error);
        d->notes->damaged_units++;
        return;
    }
    d->qualify = has_scopes(d, die);
    int r = read_lines(d, die);
    if (!is_skeleton(d, die)) {
        int w = hr_dwarf_walk(d, die);
        r = r < 0 ? r : w;
    }
    if (r < 0)
        d->notes->damaged_units++;
    hr_dwarf_free_die(d->dbg, die);
}

static void emit(struct dwarf *d, uint32_t index)
{
    const struct place *place = &d->places[index];
    struct hr_dwarf_frame frames[HR_INLINE_DEPTH_MAX];
    uint32_t count = 0;
    if (place->chain_count == 0) {
        if (!place->has_row)
            return;
        frames[count++] = (struct hr_dwarf_frame){.file = place->file, .line = place->line};
    }
    const char *file = place->file;
    uint32_t line = place->line;
    for (uint32_t i = place->chain_count; i > 0; i--) {
        const struct chain_link *link = &place->chain[i - 1];
        frames[count++] = (struct hr_dwarf_frame){
            .function = link->name, .mangled = link->mangled, .file = file, .line = line};
        file = d->lines ? hr_lines_file(d->lines, link->call_file) : NULL;
        line = link->call_line;
    }
    d->query->take(index, frames, count, d->query->context);
}

static void leave_unit(struct dwarf *d)
{
    for (uint32_t i = 0; i < d->index_count; i++) {
        free(d->places[d->indexes[i]].chain);
        d->places[d->indexes[i]].chain = NULL;
    }
    hr_lines_close(d->lines);
    d->lines = NULL;
}

/* ---- */

static int by_unit(const void *a, const void *b, void *context)
{
    const struct dwarf *d = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (d->places[i].unit != d->places[j].unit)
        return d->places[i].unit < d->places[j].unit ? -1 : 1;
    return i < j ? -1 : i > j;
}

static int read_units(struct dwarf *d, const bool *mine)
{
    const struct hr_dwarf_query *q = d->query;
    uint32_t *order = malloc((q->count + 1) * sizeof(*order));
    if (!order)
        return -ENOMEM;
    uint32_t count = 0;
    for (uint32_t i = 0; i < q->count; i++)
        if (mine[i] && d->places[i].unit)
            order[count++] = i;
    qsort_r(order, count, sizeof(*order), by_unit, d);
    for (uint32_t first = 0, last; first < count; first = last) {
        uint32_t unit = d->places[order[first]].unit;
        for (last = first; last < count && d->places[order[last]].unit == unit;)
            last++;
        d->unit = &d->units.items[unit - 1];
        d->indexes = order + first;
        d->index_count = last - first;
        read_unit(d);
        for (uint32_t i = first; i < last; i++)
            emit(d, order[i]);
        leave_unit(d);
    }
    free(order);
    return d->no_memory ? -ENOMEM : 0;
}

int hr_dwarf_find(const struct hr_dwarf_query *query, bool *mine, struct hr_dwarf_notes *notes,
                  struct hr_error *err)
{
    memset(notes, 0, sizeof(*notes));
    if (!hr_elf_find_section(query->elf, ".debug_info"))
        return -ENODATA;
    /* Without it each object is entered into a tree, only to be found at the end. We free what we
     * are done with, and the process ends anyway. */
    dwarf_set_de_alloc_flag(0);
    struct dwarf *d = calloc(1, sizeof(*d));
    if (!d)
        return hr_error_set(err, -ENOMEM, query->elf->path, 0, "out of memory");
    d->query = query;
    d->notes = notes;
    int r = hr_dwarf_open(query->elf, &d->sections, &d->dbg, err);
    if (r < 0)
        goto out;
    if (query->alt && hr_dwarf_open(query->alt, &d->alt_sections, &d->alt, NULL) == 0) {
        Dwarf_Error error = NULL;
        if (dwarf_set_tied_dbg(d->dbg, d->alt, &error) != DW_DLV_OK)
            hr_dwarf_failed(d, error);
    }
    d->places = calloc(query->count + 1, sizeof(*d->places));
    if (!d->places) {
        r = -ENOMEM;
        goto out;
    }
    r = list_units(d);
    if (r == -ENOEXEC && d->units.count > 0)
        r = 0; /* what stands before the damage is good */
    if (r < 0)
        goto out;
    use_aranges(d);
    split_units(d, mine);
    r = read_units(d, mine);
out:
    if (r == -ENOMEM)
        hr_error_set(err, r, query->elf->path, 0, "out of memory");
    for (uint32_t i = 0; i < d->name_room; i++)
        free(d->names[i].text);
    free(d->names);
    free(d->units.items);
    free(d->alt_units.items);
    free(d->places);
    free(d->top);
    if (d->dbg)
        dwarf_object_finish(d->dbg, NULL);
    if (d->alt)
        dwarf_object_finish(d->alt, NULL);
    free(d);
    return r;
}
