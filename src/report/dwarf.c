/* SPDX-License-Identifier: MIT */
/* dwarf.c - from addresses to units, and in each unit to rows of the line table and a chain of
 * inlined functions. */
#include "report/dwarf.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "report/demangle.h"
#include "report/dwarf_lines.h"

#define REFERENCE_DEPTH_MAX 16
#define SCOPE_DEPTH_MAX     64
#define TREE_DEPTH_MAX      512

/* ---- the file as libdwarf sees it: debug sections only, in our memory ---- */

struct dwarf_sections {
    Dwarf_Obj_Access_Interface access; /* what libdwarf keeps a pointer to */
    struct {
        const char *name;
        const uint8_t *data;
        uint64_t size;
    } section[16]; /* [0] is the null section */
    uint32_t count;
};

static int get_section_info(void *object, Dwarf_Half index, Dwarf_Obj_Access_Section *ret_section,
                            int *error)
{
    (void)error;
    struct dwarf_sections *s = object;
    if (index >= s->count)
        return DW_DLV_NO_ENTRY;
    *ret_section = (Dwarf_Obj_Access_Section){.type = index ? SHT_PROGBITS : SHT_NULL,
                                              .size = s->section[index].size,
                                              .name = s->section[index].name};
    return DW_DLV_OK;
}

static Dwarf_Endianness get_byte_order(void *object)
{
    (void)object;
    return DW_OBJECT_LSB;
}

static Dwarf_Small get_length_size(void *object)
{
    (void)object;
    return 8; /* of the object file, not of the DWARF in it */
}

static Dwarf_Small get_pointer_size(void *object)
{
    (void)object;
    return 8;
}

static Dwarf_Unsigned get_section_count(void *object)
{
    const struct dwarf_sections *s = object;
    return s->count;
}

static int load_section(void *object, Dwarf_Half index, Dwarf_Small **ret_data, int *error)
{
    (void)error;
    struct dwarf_sections *s = object;
    if (index == 0 || index >= s->count)
        return DW_DLV_NO_ENTRY;
    *ret_data = (Dwarf_Small *)(uintptr_t)s->section[index].data; /* read only: no relocations */
    return DW_DLV_OK;
}

static const Dwarf_Obj_Access_Methods methods = {.get_section_info = get_section_info,
                                                 .get_byte_order = get_byte_order,
                                                 .get_length_size = get_length_size,
                                                 .get_pointer_size = get_pointer_size,
                                                 .get_section_count = get_section_count,
                                                 .load_section = load_section};

static int load_sections(struct hr_elf *elf, struct dwarf_sections *s, struct hr_error *err)
{
    static const char *const names[] = {
        ".debug_info",   ".debug_abbrev",   ".debug_line", ".debug_line_str",    ".debug_str",
        ".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_str_offsets", ".debug_aranges"};
    memset(s, 0, sizeof(*s));
    s->access.object = s;
    s->access.methods = &methods;
    s->section[0].name = "";
    s->count = 1;
    for (size_t i = 0; i < XP_ARRAY_LENGTH(names); i++) {
        struct hr_elf_section *section = hr_elf_find_section(elf, names[i]);
        if (!section)
            continue;
        const uint8_t *data;
        uint64_t size;
        int r = hr_elf_section_data(elf, section, &data, &size, err);
        if (r < 0)
            return r;
        s->section[s->count].name = names[i];
        s->section[s->count].data = data;
        s->section[s->count++].size = size;
    }
    return 0;
}

static void find_section(const struct dwarf_sections *s, const char *name, const uint8_t **ret_data,
                         uint64_t *ret_size)
{
    for (uint32_t i = 1; i < s->count; i++)
        if (strcmp(s->section[i].name, name) == 0) {
            *ret_data = s->section[i].data;
            *ret_size = s->section[i].size;
        }
}

/* ---- state ---- */

struct unit {
    Dwarf_Off die_offset;
    Dwarf_Off end; /* of the unit in .debug_info */
    uint64_t base; /* low pc: what range lists are relative to */
    uint16_t version;
    bool has_ranges;
    bool hit;
};

struct chain_link {
    const char *name;
    bool mangled;
    uint32_t call_file, call_line; /* where the next inner one was... see emit() */
};

/* What is known of one address. */
struct place {
    uint32_t unit;      /* index + 1; 0 none */
    uint64_t width;     /* of the range that chose the unit: the narrowest wins */
    Dwarf_Off function; /* DIE of the concrete function; 0 not found yet */
    const char *file;   /* by the line table */
    uint32_t line;      /* by the line table */
    bool has_row;
    struct chain_link *chain; /* outermost first */
    uint32_t chain_count, chain_room;
};

struct name_entry {
    Dwarf_Off key; /* offset * 2 + (in the alt file); 0 free: no DIE stands at 0 */
    char *text;    /* NULL: has none */
    bool mangled;
};

struct dwarf {
    const struct hr_dwarf_query *query;
    struct hr_dwarf_notes *notes;
    struct dwarf_sections sections, alt_sections;
    Dwarf_Debug dbg, alt;
    struct unit *units;
    uint32_t unit_count, unit_room;
    struct place *places;
    struct name_entry *names;
    uint32_t name_count, name_room; /* room: power of two */
    bool no_memory;
    /* the unit being decoded */
    struct unit *unit;
    bool qualify; /* its language has scopes */
    const uint32_t *indexes;
    uint32_t index_count; /* addresses in it, ascending */
    struct hr_lines *lines;
    /* offsets of the children of one unit, for finding the scope of a DIE */
    Dwarf_Off top_unit;
    Dwarf_Off *top;
    uint32_t top_count, top_room;
};

static int failed(struct dwarf *d, Dwarf_Error error)
{
    if (error)
        dwarf_dealloc_error(d->dbg, error);
    return -ENOEXEC;
}

/* Grows an array of *ret_room elements to hold one more than count. */
static bool grow(struct dwarf *d, void **array, uint32_t count, uint32_t *ret_room, size_t size)
{
    if (count < *ret_room)
        return true;
    uint32_t room = *ret_room ? *ret_room * 2 : 16;
    void *larger = realloc(*array, room * size);
    if (!larger) {
        d->no_memory = true;
        return false;
    }
    *array = larger;
    *ret_room = room;
    return true;
}

static void free_die(Dwarf_Debug dbg, Dwarf_Die die)
{
    if (die)
        dwarf_dealloc(dbg, die, DW_DLA_DIE);
}

/* ---- attributes ---- */

static bool get_attribute(struct dwarf *d, Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *ret)
{
    Dwarf_Error error = NULL;
    int r = dwarf_attr(die, name, ret, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
    return r == DW_DLV_OK;
}

static bool get_number(struct dwarf *d, Dwarf_Die die, Dwarf_Half name, uint64_t *ret_value)
{
    Dwarf_Attribute attribute;
    if (!get_attribute(d, die, name, &attribute))
        return false;
    Dwarf_Error error = NULL;
    Dwarf_Unsigned value;
    int r = dwarf_formudata(attribute, &value, &error);
    if (r == DW_DLV_ERROR) {
        Dwarf_Signed signed_value;
        failed(d, error);
        error = NULL;
        r = dwarf_formsdata(attribute, &signed_value, &error);
        if (r == DW_DLV_ERROR)
            failed(d, error);
        value = (Dwarf_Unsigned)signed_value;
    }
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
    if (r != DW_DLV_OK)
        return false;
    *ret_value = value;
    return true;
}

/* A string that cannot be read: because it stands in a dwz file that we do not have? */
static void note_alt_string(struct dwarf *d, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Attribute attribute;
    Dwarf_Half form;
    if (d->alt || !get_attribute(d, die, name, &attribute))
        return;
    if (dwarf_whatform(attribute, &form, NULL) == DW_DLV_OK &&
        (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup))
        d->notes->missing_alt = true;
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
}

/* NULL: none. The text lies in the sections. */
static const char *get_text(struct dwarf *d, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Error error = NULL;
    char *text = NULL;
    int r = dwarf_die_text(die, name, &text, &error);
    if (r == DW_DLV_ERROR) {
        failed(d, error);
        note_alt_string(d, die, name);
    }
    return r == DW_DLV_OK ? text : NULL;
}

/* ---- ranges of a DIE ---- */

typedef void take_range(struct dwarf *d, uint64_t low, uint64_t high, void *context);

/* Linkers leave 0 or 1, or addresses from the top, where they dropped the code. */
static void give_range(struct dwarf *d, uint64_t low, uint64_t high, take_range *take,
                       void *context)
{
    if (low > 1 && low < high)
        take(d, low, high, context);
}

static bool old_ranges(struct dwarf *d, Dwarf_Die die, Dwarf_Off offset, take_range *take,
                       void *context)
{
    Dwarf_Ranges *ranges;
    Dwarf_Signed count;
    Dwarf_Unsigned bytes;
    Dwarf_Off real;
    Dwarf_Error error = NULL;
    int r = dwarf_get_ranges_b(d->dbg, offset, die, &real, &ranges, &count, &bytes, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
    if (r != DW_DLV_OK)
        return false;
    uint64_t base = d->unit->base;
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
            give_range(d, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, take, context);
        else
            break;
    }
    dwarf_ranges_dealloc(d->dbg, ranges, count);
    return true;
}

static bool new_ranges(struct dwarf *d, Dwarf_Attribute attribute, Dwarf_Half form,
                       Dwarf_Unsigned value, take_range *take, void *context)
{
    Dwarf_Rnglists_Head head;
    Dwarf_Unsigned count, offset;
    Dwarf_Error error = NULL;
    int r = dwarf_rnglists_get_rle_head(attribute, form, value, &head, &count, &offset, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
    if (r != DW_DLV_OK)
        return false;
    for (Dwarf_Unsigned i = 0; i < count; i++) {
        unsigned length, code;
        Dwarf_Unsigned raw1, raw2, low, high;
        Dwarf_Bool unavailable;
        error = NULL;
        r = dwarf_get_rnglists_entry_fields_a(head, i, &length, &code, &raw1, &raw2, &unavailable,
                                              &low, &high, &error);
        if (r == DW_DLV_ERROR)
            failed(d, error);
        if (r != DW_DLV_OK || code == DW_RLE_end_of_list)
            break;
        if (code != DW_RLE_base_address && code != DW_RLE_base_addressx && !unavailable)
            give_range(d, low, high, take, context);
    }
    dwarf_dealloc_rnglists_head(head);
    return true;
}

/* Calls take for each range of code of the DIE. False: it has none, or they cannot be read. */
static bool each_range(struct dwarf *d, Dwarf_Die die, take_range *take, void *context)
{
    Dwarf_Error error = NULL;
    Dwarf_Addr low, high;
    Dwarf_Half form;
    enum Dwarf_Form_Class class;
    int r = dwarf_highpc_b(die, &high, &form, &class, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
    if (r == DW_DLV_OK) {
        error = NULL;
        r = dwarf_lowpc(die, &low, &error);
        if (r == DW_DLV_ERROR)
            failed(d, error);
        if (r != DW_DLV_OK)
            return false;
        give_range(d, low, class == DW_FORM_CLASS_CONSTANT ? low + high : high, take, context);
        return true;
    }
    Dwarf_Attribute attribute;
    if (!get_attribute(d, die, DW_AT_ranges, &attribute))
        return false;
    bool found = false;
    Dwarf_Unsigned value = 0;
    error = NULL;
    r = dwarf_whatform(attribute, &form, &error);
    if (r == DW_DLV_OK)
        r = form == DW_FORM_rnglistx ? dwarf_formudata(attribute, &value, &error)
                                     : dwarf_global_formref(attribute, &value, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
    if (r == DW_DLV_OK)
        found = d->unit->version >= 5 ? new_ranges(d, attribute, form, value, take, context)
                                      : old_ranges(d, die, value, take, context);
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
    return found;
}

/* ---- units ---- */

/* First index whose address is >= value. */
static uint32_t lower_bound(const uint64_t *addresses, uint32_t count, uint64_t value)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (addresses[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* First index into d->indexes whose address is >= value. */
static uint32_t first_in_unit(const struct dwarf *d, uint64_t value)
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
    for (uint32_t i = lower_bound(q->addresses, q->count, low);
         i < q->count && q->addresses[i] < high; i++) {
        struct place *place = &d->places[i];
        if (place->unit && place->width <= high - low)
            continue;
        place->unit = (uint32_t)(unit - d->units) + 1;
        place->width = high - low;
    }
}

static int list_units(struct dwarf *d)
{
    for (;;) {
        Dwarf_Unsigned header_length, type_offset, next;
        Dwarf_Half version, address_size, length_size, extension_size, unit_type;
        Dwarf_Off abbrev;
        Dwarf_Sig8 signature;
        Dwarf_Error error = NULL;
        int r = dwarf_next_cu_header_d(d->dbg, true, &header_length, &version, &abbrev,
                                       &address_size, &length_size, &extension_size, &signature,
                                       &type_offset, &next, &unit_type, &error);
        if (r == DW_DLV_NO_ENTRY)
            return 0;
        if (r == DW_DLV_ERROR) {
            d->notes->damaged_units++;
            return failed(d, error);
        }
        if (!grow(d, (void **)&d->units, d->unit_count, &d->unit_room, sizeof(*d->units)))
            return -ENOMEM;
        Dwarf_Die die = NULL;
        r = dwarf_siblingof_b(d->dbg, NULL, true, &die, &error);
        Dwarf_Off offset = 0;
        if (r == DW_DLV_OK)
            r = dwarf_dieoffset(die, &offset, &error);
        if (r == DW_DLV_OK) {
            d->units[d->unit_count++] =
                (struct unit){.die_offset = offset, .end = next, .version = version};
            struct unit *unit = d->unit = &d->units[d->unit_count - 1];
            error = NULL;
            Dwarf_Addr low;
            r = dwarf_lowpc(die, &low, &error);
            if (r == DW_DLV_OK)
                unit->base = low;
            else if (r == DW_DLV_ERROR)
                failed(d, error);
            if (unit_type != DW_UT_type && unit_type != DW_UT_split_type)
                unit->has_ranges = each_range(d, die, choose_unit, unit);
        } else if (r == DW_DLV_ERROR) {
            d->notes->damaged_units++;
            failed(d, error);
        }
        free_die(d->dbg, die);
    }
}

static uint32_t find_unit(const struct dwarf *d, Dwarf_Off offset)
{
    uint32_t low = 0, high = d->unit_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->units[middle].end <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < d->unit_count && d->units[low].die_offset <= offset ? low : UINT32_MAX;
}

/* Some producers give the unit no range and only list it in .debug_aranges. */
static void use_aranges(struct dwarf *d)
{
    bool missing = false, rangeless = false;
    for (uint32_t i = 0; i < d->query->count && !missing; i++)
        missing = !d->places[i].unit;
    for (uint32_t i = 0; i < d->unit_count && !rangeless; i++)
        rangeless = !d->units[i].has_ranges;
    if (!missing || !rangeless)
        return;
    Dwarf_Arange *aranges;
    Dwarf_Signed count;
    Dwarf_Error error = NULL;
    int r = dwarf_get_aranges(d->dbg, &aranges, &count, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
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
            failed(d, error);
        uint32_t unit = r == DW_DLV_OK ? find_unit(d, die_offset) : UINT32_MAX;
        if (unit != UINT32_MAX && !d->units[unit].has_ranges && length < UINT64_MAX - start)
            give_range(d, start, start + length, choose_unit, &d->units[unit]);
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
        struct unit *unit = d->places[i].unit ? &d->units[d->places[i].unit - 1] : NULL;
        if (unit && !unit->hit) {
            unit->hit = true;
            sum += unit->end - unit->die_offset;
        }
    }
    for (uint32_t u = 0; u < d->unit_count; u++) {
        struct unit *unit = &d->units[u];
        if (!unit->hit)
            continue;
        uint64_t share =
            (uint64_t)((__extension__(unsigned __int128) before * q->shares) / (sum ? sum : 1));
        before += unit->end - unit->die_offset;
        unit->hit = share == q->share;
    }
    for (uint32_t i = 0; i < q->count; i++)
        mine[i] = d->places[i].unit ? d->units[d->places[i].unit - 1].hit : q->share == 0;
}

/* ---- lines of the unit ---- */

static void use_row(uint64_t low, uint64_t high, uint64_t file, uint64_t line, void *context)
{
    struct dwarf *d = context;
    for (uint32_t i = first_in_unit(d, low);
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
    struct hr_lines_input input = {.directory = get_text(d, die, DW_AT_comp_dir)};
    Dwarf_Attribute attribute;
    Dwarf_Error error = NULL;
    if (!get_attribute(d, die, DW_AT_stmt_list, &attribute))
        return 0;
    Dwarf_Off offset;
    int status = dwarf_global_formref(attribute, &offset, &error);
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
    if (status == DW_DLV_ERROR)
        return failed(d, error);
    input.offset = offset;
    find_section(&d->sections, ".debug_line", &input.line, &input.line_size);
    find_section(&d->sections, ".debug_line_str", &input.line_str, &input.line_str_size);
    find_section(&d->sections, ".debug_str", &input.str, &input.str_size);
    int r = hr_lines_open(&input, &d->lines);
    if (r == -ENOMEM)
        d->no_memory = true;
    return r < 0 ? r : hr_lines_each(d->lines, use_row, d);
}

/* ---- names of functions ---- */

static bool is_alt_form(Dwarf_Half form)
{
    return form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

/* Follows a reference attribute. dbg is where die lives, and becomes where the result lives. */
static Dwarf_Die follow(struct dwarf *d, Dwarf_Debug *dbg, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Attribute attribute;
    if (!get_attribute(d, die, name, &attribute))
        return NULL;
    Dwarf_Error error = NULL;
    Dwarf_Half form;
    Dwarf_Off offset;
    Dwarf_Die target = NULL;
    Dwarf_Debug target_dbg = *dbg;
    int r = dwarf_whatform(attribute, &form, &error);
    if (r == DW_DLV_OK && is_alt_form(form)) {
        target_dbg = *dbg == d->alt ? NULL : d->alt;
        if (!target_dbg) {
            d->notes->missing_alt = true;
            r = DW_DLV_NO_ENTRY;
        }
    }
    if (r == DW_DLV_OK)
        r = dwarf_global_formref(attribute, &offset, &error);
    if (r == DW_DLV_OK)
        r = dwarf_offdie_b(target_dbg, offset, true, &target, &error);
    if (r == DW_DLV_ERROR)
        failed(d, error);
    dwarf_dealloc(*dbg, attribute, DW_DLA_ATTR);
    if (r != DW_DLV_OK)
        return NULL;
    *dbg = target_dbg;
    return target;
}

static const struct name_entry *name_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die,
                                        unsigned depth);

/* ---- scopes: libdwarf knows no parents, so the way down to a DIE is searched again ---- */

static int list_top(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off unit_die)
{
    if (d->top_unit == unit_die && d->top_count > 0)
        return 0;
    d->top_count = 0;
    d->top_unit = unit_die;
    Dwarf_Die parent, child = NULL;
    Dwarf_Error error = NULL;
    if (dwarf_offdie_b(dbg, unit_die, true, &parent, &error) != DW_DLV_OK)
        return failed(d, error);
    int r = dwarf_child(parent, &child, &error);
    while (r == DW_DLV_OK) {
        Dwarf_Off offset;
        Dwarf_Die next = NULL;
        if (dwarf_dieoffset(child, &offset, &error) == DW_DLV_OK &&
            grow(d, (void **)&d->top, d->top_count, &d->top_room, sizeof(*d->top)))
            d->top[d->top_count++] = offset;
        r = dwarf_siblingof_b(dbg, child, true, &next, &error);
        free_die(dbg, child);
        child = next;
    }
    if (r == DW_DLV_ERROR)
        failed(d, error);
    free_die(dbg, parent);
    return 0;
}

/* The child of a unit that holds the DIE at target. */
static Dwarf_Die top_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off target)
{
    uint32_t unit = find_unit(d, target);
    if (unit == UINT32_MAX || list_top(d, dbg, d->units[unit].die_offset) < 0)
        return NULL;
    uint32_t low = 0, high = d->top_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (d->top[middle] <= target)
            low = middle + 1;
        else
            high = middle;
    }
    Dwarf_Die die = NULL;
    Dwarf_Error error = NULL;
    if (low == 0)
        return NULL;
    if (dwarf_offdie_b(dbg, d->top[low - 1], true, &die, &error) != DW_DLV_OK) {
        failed(d, error);
        return NULL;
    }
    return die;
}

/* The child of die that holds target; die is freed. */
static Dwarf_Die child_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die, Dwarf_Off target)
{
    Dwarf_Die child = NULL, next = NULL;
    Dwarf_Error error = NULL;
    int r = dwarf_child(die, &child, &error);
    free_die(dbg, die);
    if (r != DW_DLV_OK)
        child = NULL;
    while (r == DW_DLV_OK) {
        Dwarf_Off offset;
        r = dwarf_siblingof_b(dbg, child, true, &next, &error);
        if (r != DW_DLV_OK)
            break;
        if (dwarf_dieoffset(next, &offset, &error) != DW_DLV_OK || offset > target) {
            free_die(dbg, next);
            break;
        }
        free_die(dbg, child);
        child = next;
    }
    if (r == DW_DLV_ERROR)
        failed(d, error);
    return child;
}

static char *append(char *scope, const char *part)
{
    size_t length = scope ? strlen(scope) : 0;
    char *longer = realloc(scope, length + strlen(part) + 3);
    if (!longer) {
        free(scope);
        return NULL;
    }
    if (length)
        memcpy(longer + length, "::", 2);
    strcpy(longer + length + (length ? 2 : 0), part);
    return longer;
}

/* Adds to the scope what the DIE contributes to the names in it. NULL without memory. */
static char *enter_scope(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die, char *scope,
                         unsigned depth)
{
    Dwarf_Half tag = 0;
    Dwarf_Error error = NULL;
    if (dwarf_tag(die, &tag, &error) != DW_DLV_OK)
        failed(d, error);
    const char *name = get_text(d, die, DW_AT_name);
    switch (tag) {
    case DW_TAG_namespace:
        return append(scope, name ? name : "(anonymous namespace)");
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return append(scope, name ? name : "{unnamed}");
    case DW_TAG_module:
        return name ? append(scope, name) : scope;
    case DW_TAG_subprogram: {
        const struct name_entry *function = name_of(d, dbg, die, depth + 1);
        if (!function || !function->text)
            return scope;
        /* Its name has all its scopes in it already. */
        char *whole = function->mangled ? hr_demangle(function->text, HR_DEMANGLE_SHORT)
                                        : strdup(function->text);
        free(scope);
        return whole;
    }
    default:
        return scope;
    }
}

static char *qualified_name(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off target, const char *name,
                            unsigned depth)
{
    char *scope = strdup("");
    Dwarf_Die die = dbg == d->dbg ? top_of(d, dbg, target) : NULL;
    for (unsigned level = 0; die && level < SCOPE_DEPTH_MAX; level++) {
        Dwarf_Off offset;
        Dwarf_Error error = NULL;
        if (dwarf_dieoffset(die, &offset, &error) != DW_DLV_OK || offset >= target)
            break;
        if (scope)
            scope = enter_scope(d, dbg, die, scope, depth);
        die = child_of(d, dbg, die, target);
    }
    free_die(dbg, die);
    char *whole = scope ? append(scope, name) : NULL;
    if (!whole)
        d->no_memory = true;
    return whole;
}

/* ---- */

static struct name_entry *name_slot(struct dwarf *d, Dwarf_Off key)
{
    uint32_t mask = d->name_room - 1;
    uint32_t i = (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;
    while (d->names[i].key && d->names[i].key != key)
        i = (i + 1) & mask;
    return &d->names[i];
}

static bool grow_names(struct dwarf *d)
{
    if (d->name_room && d->name_count < d->name_room / 2)
        return true;
    struct name_entry *old = d->names;
    uint32_t old_room = d->name_room;
    d->name_room = old_room ? old_room * 2 : 256;
    d->names = calloc(d->name_room, sizeof(*d->names));
    if (!d->names) {
        d->names = old;
        d->name_room = old_room;
        d->no_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < old_room; i++)
        if (old[i].key)
            *name_slot(d, old[i].key) = old[i];
    free(old);
    return true;
}

/* Walks origins and specifications from die to where its names stand. */
static void search_name(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die, struct name_entry *entry,
                        unsigned depth)
{
    const char *plain = NULL;
    Dwarf_Off declared = 0;
    Dwarf_Debug declared_dbg = dbg;
    Dwarf_Die at = die;
    for (int i = 0; i < REFERENCE_DEPTH_MAX; i++) {
        const char *linkage = get_text(d, at, DW_AT_linkage_name);
        if (!linkage)
            linkage = get_text(d, at, DW_AT_MIPS_linkage_name);
        if (linkage && *linkage) {
            entry->text = strdup(linkage);
            entry->mangled = true;
            break;
        }
        const char *name = get_text(d, at, DW_AT_name);
        Dwarf_Error error = NULL;
        if (name && !plain)
            plain = name;
        if (dwarf_dieoffset(at, &declared, &error) != DW_DLV_OK)
            failed(d, error);
        declared_dbg = dbg;
        Dwarf_Debug next_dbg = dbg;
        Dwarf_Die next = follow(d, &next_dbg, at, DW_AT_abstract_origin);
        if (!next)
            next = follow(d, &next_dbg, at, DW_AT_specification);
        if (at != die)
            free_die(dbg, at);
        at = next;
        dbg = next_dbg;
        if (!at)
            break;
    }
    if (at && at != die)
        free_die(dbg, at);
    if (entry->text || !plain)
        return;
    entry->text =
        d->qualify ? qualified_name(d, declared_dbg, declared, plain, depth) : strdup(plain);
}

/* NULL: too deep or no memory. text NULL: it has no name. */
static const struct name_entry *name_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die,
                                        unsigned depth)
{
    Dwarf_Off offset;
    Dwarf_Error error = NULL;
    if (depth > REFERENCE_DEPTH_MAX || !grow_names(d))
        return NULL;
    if (dwarf_dieoffset(die, &offset, &error) != DW_DLV_OK) {
        failed(d, error);
        return NULL;
    }
    Dwarf_Off key = offset * 2 + (dbg == d->alt);
    struct name_entry *slot = name_slot(d, key);
    if (slot->key)
        return slot;
    struct name_entry entry = {.key = key};
    search_name(d, dbg, die, &entry, depth);
    /* Names of scopes may have been entered meanwhile, and the table moved. */
    if (!grow_names(d)) {
        free(entry.text);
        return NULL;
    }
    slot = name_slot(d, key);
    if (slot->key) {
        free(entry.text);
        return slot;
    }
    *slot = entry;
    d->name_count++;
    return slot;
}

/* ---- functions and what is inlined into them ---- */

static void push_link(struct dwarf *d, struct place *place, const struct chain_link *link)
{
    if (place->chain_count >= HR_INLINE_DEPTH_MAX)
        return;
    if (grow(d, (void **)&place->chain, place->chain_count, &place->chain_room,
             sizeof(*place->chain)))
        place->chain[place->chain_count++] = *link;
}

/* One DIE with code, on its way to the addresses that lie in it. */
struct visit {
    Dwarf_Die die;
    Dwarf_Off offset;   /* of die */
    Dwarf_Off function; /* the concrete function around; die itself when it is one */
    bool named;         /* link is filled */
    struct chain_link link;
    bool hit;
};

static void fill_link(struct dwarf *d, struct visit *visit)
{
    if (visit->named)
        return;
    visit->named = true;
    const struct name_entry *name = name_of(d, d->dbg, visit->die, 0);
    uint64_t value;
    if (name) {
        visit->link.name = name->text;
        visit->link.mangled = name->mangled;
    }
    if (visit->offset == visit->function)
        return;
    if (get_number(d, visit->die, DW_AT_call_file, &value) && value <= UINT32_MAX)
        visit->link.call_file = (uint32_t)value;
    if (get_number(d, visit->die, DW_AT_call_line, &value) && value <= UINT32_MAX)
        visit->link.call_line = (uint32_t)value;
}

static void visit_range(struct dwarf *d, uint64_t low, uint64_t high, void *context)
{
    struct visit *visit = context;
    const struct hr_dwarf_query *q = d->query;
    for (uint32_t i = first_in_unit(d, low);
         i < d->index_count && q->addresses[d->indexes[i]] < high; i++) {
        struct place *place = &d->places[d->indexes[i]];
        if (visit->offset == visit->function ? place->function != 0
                                             : place->function != visit->function)
            continue;
        fill_link(d, visit);
        place->function = visit->function;
        push_link(d, place, &visit->link);
        visit->hit = true;
    }
}

static void only_look(struct dwarf *d, uint64_t low, uint64_t high, void *context)
{
    bool *hit = context;
    uint32_t i = first_in_unit(d, low);
    *hit = *hit || (i < d->index_count && d->query->addresses[d->indexes[i]] < high);
}

struct walk {
    Dwarf_Off function; /* we are inside of; 0 none */
    bool deep;          /* look into types and functions without hits too */
    unsigned depth;
};

static int walk_children(struct dwarf *d, Dwarf_Die parent, const struct walk *walk);

static int walk_code(struct dwarf *d, Dwarf_Die die, Dwarf_Half tag, const struct walk *walk)
{
    Dwarf_Off offset;
    Dwarf_Error error = NULL;
    if (dwarf_dieoffset(die, &offset, &error) != DW_DLV_OK)
        return failed(d, error);
    bool is_function = tag == DW_TAG_subprogram;
    struct visit visit = {
        .die = die, .offset = offset, .function = is_function ? offset : walk->function};
    if (is_function || walk->function)
        each_range(d, die, visit_range, &visit);
    if (!visit.hit && !walk->deep)
        return 0;
    const struct walk inner = {
        .function = visit.hit ? visit.function : 0, .deep = walk->deep, .depth = walk->depth + 1};
    return walk_children(d, die, &inner);
}

static int walk_die(struct dwarf *d, Dwarf_Die die, const struct walk *walk)
{
    Dwarf_Half tag;
    Dwarf_Error error = NULL;
    if (dwarf_tag(die, &tag, &error) != DW_DLV_OK)
        return failed(d, error);
    const struct walk inner = {
        .function = walk->function, .deep = walk->deep, .depth = walk->depth + 1};
    bool enter = false;
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
        return walk_code(d, die, tag, walk);
    case DW_TAG_namespace:
    case DW_TAG_module:
        enter = true;
        break;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_common_block:
        if (walk->function || walk->deep) {
            bool hit = false;
            enter = !each_range(d, die, only_look, &hit) || hit || walk->deep;
        }
        break;
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        enter = walk->deep;
        break;
    default:
        break;
    }
    return enter ? walk_children(d, die, &inner) : 0;
}

static int walk_children(struct dwarf *d, Dwarf_Die parent, const struct walk *walk)
{
    if (walk->depth > TREE_DEPTH_MAX)
        return -ENOEXEC;
    Dwarf_Die child = NULL;
    Dwarf_Error error = NULL;
    int status = dwarf_child(parent, &child, &error);
    int r = 0;
    while (status == DW_DLV_OK && r == 0) {
        Dwarf_Die next = NULL;
        r = walk_die(d, child, walk);
        error = NULL;
        status = dwarf_siblingof_b(d->dbg, child, true, &next, &error);
        free_die(d->dbg, child);
        child = next;
    }
    if (status == DW_DLV_ERROR)
        return failed(d, error);
    if (status == DW_DLV_OK)
        free_die(d->dbg, child);
    return r;
}

static bool all_found(const struct dwarf *d)
{
    for (uint32_t i = 0; i < d->index_count; i++)
        if (!d->places[d->indexes[i]].function)
            return false;
    return true;
}

/* ---- one unit ---- */

static bool has_scopes(struct dwarf *d, Dwarf_Die die)
{
    uint64_t language = 0;
    get_number(d, die, DW_AT_language, &language);
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
    const char *name = get_text(d, die, DW_AT_dwo_name);
    if (!name)
        name = get_text(d, die, DW_AT_GNU_dwo_name);
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
        failed(d, error);
        d->notes->damaged_units++;
        return;
    }
    d->qualify = has_scopes(d, die);
    int r = read_lines(d, die);
    if (!is_skeleton(d, die)) {
        const struct walk walk = {0};
        int w = walk_children(d, die, &walk);
        if (w == 0 && !all_found(d)) {
            /* Functions inside of functions or local classes; rare enough to look twice. */
            const struct walk deep = {.deep = true};
            w = walk_children(d, die, &deep);
        }
        r = r < 0 ? r : w;
    }
    if (r < 0)
        d->notes->damaged_units++;
    free_die(d->dbg, die);
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
        d->unit = &d->units[unit - 1];
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

static int open_debug(struct hr_elf *elf, struct dwarf_sections *sections, Dwarf_Debug *ret_dbg,
                      struct hr_error *err)
{
    int r = load_sections(elf, sections, err);
    if (r < 0)
        return r;
    Dwarf_Error error = NULL;
    int status =
        dwarf_object_init_b(&sections->access, NULL, NULL, DW_GROUPNUMBER_BASE, ret_dbg, &error);
    if (status == DW_DLV_NO_ENTRY)
        return -ENODATA;
    if (status != DW_DLV_OK)
        return hr_error_set(err, -ENOEXEC, elf->path, 0, "debug information: %s",
                            error ? dwarf_errmsg(error) : "damaged");
    return 0;
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
    int r = open_debug(query->elf, &d->sections, &d->dbg, err);
    if (r < 0)
        goto out;
    if (query->alt && open_debug(query->alt, &d->alt_sections, &d->alt, NULL) == 0) {
        Dwarf_Error error = NULL;
        if (dwarf_set_tied_dbg(d->dbg, d->alt, &error) != DW_DLV_OK)
            failed(d, error);
    }
    d->places = calloc(query->count + 1, sizeof(*d->places));
    if (!d->places) {
        r = -ENOMEM;
        goto out;
    }
    r = list_units(d);
    if (r == -ENOEXEC && d->unit_count > 0)
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
    free(d->units);
    free(d->places);
    free(d->top);
    if (d->dbg)
        dwarf_object_finish(d->dbg, NULL);
    if (d->alt)
        dwarf_object_finish(d->alt, NULL);
    free(d);
    return r;
}
