/* SPDX-License-Identifier: MIT */
/* dwarf_die.c - attributes and code ranges of one DIE, whatever form they take. */
#include "report/dwarf_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int hr_dwarf_failed(struct dwarf *d, Dwarf_Error error)
{
    if (error)
        dwarf_dealloc_error(d->dbg, error);
    return -ENOEXEC;
}

/* Grows an array of *ret_room elements to hold one more than count. */
bool hr_dwarf_grow(struct dwarf *d, void **array, uint32_t count, uint32_t *ret_room, size_t size)
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

void hr_dwarf_free_die(Dwarf_Debug dbg, Dwarf_Die die)
{
    if (die)
        dwarf_dealloc(dbg, die, DW_DLA_DIE);
}

/* ---- attributes ---- */

bool hr_dwarf_attribute(struct dwarf *d, Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *ret)
{
    Dwarf_Error error = NULL;
    int r = dwarf_attr(die, name, ret, &error);
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
    return r == DW_DLV_OK;
}

bool hr_dwarf_number(struct dwarf *d, Dwarf_Die die, Dwarf_Half name, uint64_t *ret_value)
{
    Dwarf_Attribute attribute;
    if (!hr_dwarf_attribute(d, die, name, &attribute))
        return false;
    Dwarf_Error error = NULL;
    Dwarf_Unsigned value;
    int r = dwarf_formudata(attribute, &value, &error);
    if (r == DW_DLV_ERROR) {
        Dwarf_Signed signed_value;
        hr_dwarf_failed(d, error);
        error = NULL;
        r = dwarf_formsdata(attribute, &signed_value, &error);
        if (r == DW_DLV_ERROR)
            hr_dwarf_failed(d, error);
        value = (Dwarf_Unsigned)signed_value;
    }
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
    if (r != DW_DLV_OK)
        return false;
    *ret_value = value;
    return true;
}

/* What libdwarf says in place of a string that stands in a dwz file it does not have. */
#define NO_ALT_TEXT "<DW_FORM_GNU_strp_alt-no-tied-file>"

/* A string that cannot be read: because it stands in a dwz file that we do not have? */
static void note_alt_string(struct dwarf *d, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Attribute attribute;
    Dwarf_Error error = NULL;
    Dwarf_Half form;
    if (d->alt || !hr_dwarf_attribute(d, die, name, &attribute))
        return;
    if (dwarf_whatform(attribute, &form, &error) != DW_DLV_OK)
        hr_dwarf_failed(d, error);
    else if (form == DW_FORM_GNU_strp_alt || form == DW_FORM_strp_sup)
        d->notes->missing_alt = true;
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
}

/* NULL: none. The text lies in the sections. */
const char *hr_dwarf_text(struct dwarf *d, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Error error = NULL;
    char *text = NULL;
    int r = dwarf_die_text(die, name, &text, &error);
    if (r == DW_DLV_ERROR) {
        hr_dwarf_failed(d, error);
        note_alt_string(d, die, name);
    }
    if (r == DW_DLV_OK && strcmp(text, NO_ALT_TEXT) == 0) {
        d->notes->missing_alt = true;
        return NULL;
    }
    return r == DW_DLV_OK ? text : NULL;
}

/* ---- ranges of a DIE ---- */

/* Linkers leave 0 or 1, or addresses from the top, where they dropped the code. */
void hr_dwarf_give_range(struct dwarf *d, uint64_t low, uint64_t high, hr_dwarf_take_range *take,
                         void *context)
{
    if (low > 1 && low < high)
        take(d, low, high, context);
}

static bool old_ranges(struct dwarf *d, Dwarf_Die die, Dwarf_Off offset, hr_dwarf_take_range *take,
                       void *context)
{
    Dwarf_Ranges *ranges;
    Dwarf_Signed count;
    Dwarf_Unsigned bytes;
    Dwarf_Off real;
    Dwarf_Error error = NULL;
    int r = dwarf_get_ranges_b(d->dbg, offset, die, &real, &ranges, &count, &bytes, &error);
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
    if (r != DW_DLV_OK)
        return false;
    uint64_t base = d->unit->base;
    for (Dwarf_Signed i = 0; i < count; i++) {
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
            hr_dwarf_give_range(d, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, take,
                                context);
        else
            break;
    }
    dwarf_ranges_dealloc(d->dbg, ranges, count);
    return true;
}

static bool new_ranges(struct dwarf *d, Dwarf_Attribute attribute, Dwarf_Half form,
                       Dwarf_Unsigned value, hr_dwarf_take_range *take, void *context)
{
    Dwarf_Rnglists_Head head;
    Dwarf_Unsigned count, offset;
    Dwarf_Error error = NULL;
    int r = dwarf_rnglists_get_rle_head(attribute, form, value, &head, &count, &offset, &error);
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
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
            hr_dwarf_failed(d, error);
        if (r != DW_DLV_OK || code == DW_RLE_end_of_list)
            break;
        if (code != DW_RLE_base_address && code != DW_RLE_base_addressx && !unavailable)
            hr_dwarf_give_range(d, low, high, take, context);
    }
    dwarf_dealloc_rnglists_head(head);
    return true;
}

/* Calls take for each range of code of the DIE. False: it has none, or they cannot be read. */
bool hr_dwarf_each_range(struct dwarf *d, Dwarf_Die die, hr_dwarf_take_range *take, void *context)
{
    Dwarf_Error error = NULL;
    Dwarf_Addr low, high;
    Dwarf_Half form;
    enum Dwarf_Form_Class class;
    int r = dwarf_highpc_b(die, &high, &form, &class, &error);
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
    if (r == DW_DLV_OK) {
        error = NULL;
        r = dwarf_lowpc(die, &low, &error);
        if (r == DW_DLV_ERROR)
            hr_dwarf_failed(d, error);
        if (r != DW_DLV_OK)
            return false;
        hr_dwarf_give_range(d, low, class == DW_FORM_CLASS_CONSTANT ? low + high : high, take,
                            context);
        return true;
    }
    Dwarf_Attribute attribute;
    if (!hr_dwarf_attribute(d, die, DW_AT_ranges, &attribute))
        return false;
    bool found = false;
    Dwarf_Unsigned value = 0;
    error = NULL;
    r = dwarf_whatform(attribute, &form, &error);
    if (r == DW_DLV_OK)
        r = form == DW_FORM_rnglistx ? dwarf_formudata(attribute, &value, &error)
                                     : dwarf_global_formref(attribute, &value, &error);
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
    if (r == DW_DLV_OK)
        found = d->unit->version >= 5 ? new_ranges(d, attribute, form, value, take, context)
                                      : old_ranges(d, die, value, take, context);
    dwarf_dealloc(d->dbg, attribute, DW_DLA_ATTR);
    return found;
}
