/* SPDX-License-Identifier: MIT */
/* dwarf_names.c - the name of a function: a linkage name, or its own with all scopes around it. */
#include "report/dwarf_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/demangle.h"

#define REFERENCE_DEPTH_MAX 16
#define SCOPE_DEPTH_MAX     64
#define UNNAMED             "{unnamed}"

/* ---- names of functions ---- */

static bool is_alt_form(Dwarf_Half form)
{
    return form == DW_FORM_GNU_ref_alt || form == DW_FORM_ref_sup4 || form == DW_FORM_ref_sup8;
}

/* Follows a reference attribute. dbg is where die lives, and becomes where the result lives. */
static Dwarf_Die follow(struct dwarf *d, Dwarf_Debug *dbg, Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Attribute attribute;
    if (!hr_dwarf_attribute(d, die, name, &attribute))
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
        hr_dwarf_failed(d, error);
    dwarf_dealloc(*dbg, attribute, DW_DLA_ATTR);
    if (r != DW_DLV_OK)
        return NULL;
    *dbg = target_dbg;
    return target;
}

/* ---- scopes: libdwarf knows no parents, so the way down to a DIE is searched again ---- */

static int list_top(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off unit_die)
{
    if (d->top_dbg == dbg && d->top_unit == unit_die && d->top_count > 0)
        return 0;
    d->top_count = 0;
    d->top_dbg = dbg;
    d->top_unit = unit_die;
    Dwarf_Die parent, child = NULL;
    Dwarf_Error error = NULL;
    if (dwarf_offdie_b(dbg, unit_die, true, &parent, &error) != DW_DLV_OK)
        return hr_dwarf_failed(d, error);
    int r = dwarf_child(parent, &child, &error);
    while (r == DW_DLV_OK) {
        Dwarf_Off offset;
        Dwarf_Die next = NULL;
        if (dwarf_dieoffset(child, &offset, &error) == DW_DLV_OK &&
            hr_dwarf_grow(d, (void **)&d->top, d->top_count, &d->top_room, sizeof(*d->top)))
            d->top[d->top_count++] = offset;
        r = dwarf_siblingof_b(dbg, child, true, &next, &error);
        hr_dwarf_free_die(dbg, child);
        child = next;
    }
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
    hr_dwarf_free_die(dbg, parent);
    return 0;
}

/* The child of a unit that holds the DIE at target. */
static Dwarf_Die top_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off target)
{
    const struct unit *unit = hr_dwarf_find_unit(d, dbg, target);
    if (!unit || list_top(d, dbg, unit->die_offset) < 0)
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
        hr_dwarf_failed(d, error);
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
    hr_dwarf_free_die(dbg, die);
    if (r != DW_DLV_OK)
        child = NULL;
    while (r == DW_DLV_OK) {
        Dwarf_Off offset;
        r = dwarf_siblingof_b(dbg, child, true, &next, &error);
        if (r != DW_DLV_OK)
            break;
        if (dwarf_dieoffset(next, &offset, &error) != DW_DLV_OK || offset > target) {
            hr_dwarf_free_die(dbg, next);
            break;
        }
        hr_dwarf_free_die(dbg, child);
        child = next;
    }
    if (r == DW_DLV_ERROR)
        hr_dwarf_failed(d, error);
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
        hr_dwarf_failed(d, error);
    const char *name = hr_dwarf_text(d, die, DW_AT_name);
    switch (tag) {
    case DW_TAG_namespace:
        return append(scope, name ? name : "(anonymous namespace)");
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
        return append(scope, name ? name : UNNAMED);
    case DW_TAG_module:
        return name ? append(scope, name) : scope;
    case DW_TAG_subprogram: {
        const struct name_entry *function = hr_dwarf_name_of(d, dbg, die, depth + 1);
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

/* The class without a name that has a call operator; in words of demanglers. */
static void call_it_lambda(char *scope)
{
    size_t length = strlen(scope);
    if (length >= strlen(UNNAMED) && strcmp(scope + length - strlen(UNNAMED), UNNAMED) == 0)
        strcpy(scope + length - strlen(UNNAMED), "{lambda}");
}

static char *qualified_name(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off target, const char *name,
                            unsigned depth)
{
    char *scope = strdup("");
    Dwarf_Die die = top_of(d, dbg, target);
    for (unsigned level = 0; die && level < SCOPE_DEPTH_MAX; level++) {
        Dwarf_Off offset;
        Dwarf_Error error = NULL;
        if (dwarf_dieoffset(die, &offset, &error) != DW_DLV_OK || offset >= target)
            break;
        if (scope)
            scope = enter_scope(d, dbg, die, scope, depth);
        die = child_of(d, dbg, die, target);
    }
    hr_dwarf_free_die(dbg, die);
    if (scope && strcmp(name, "operator()") == 0)
        call_it_lambda(scope);
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

/* Walks origins and specifications from die to where its names stand. In C a linkage name is an
 * assembler label or a compiler's invention (__GI_abort, foo.lto_priv.0): there the name in the
 * source is the better one. */
static void search_name(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die, struct name_entry *entry,
                        unsigned depth)
{
    const char *plain = NULL, *fallback = NULL;
    Dwarf_Off declared = 0;
    Dwarf_Debug declared_dbg = dbg;
    Dwarf_Die at = die;
    for (int i = 0; i < REFERENCE_DEPTH_MAX; i++) {
        const char *linkage = hr_dwarf_text(d, at, DW_AT_linkage_name);
        if (!linkage)
            linkage = hr_dwarf_text(d, at, DW_AT_MIPS_linkage_name);
        if (linkage && *linkage && d->qualify) {
            entry->text = strdup(linkage);
            entry->mangled = true;
            break;
        }
        const char *name = hr_dwarf_text(d, at, DW_AT_name);
        Dwarf_Error error = NULL;
        if (name && !plain)
            plain = name;
        else if (linkage && !fallback)
            fallback = linkage;
        if (dwarf_dieoffset(at, &declared, &error) != DW_DLV_OK)
            hr_dwarf_failed(d, error);
        declared_dbg = dbg;
        Dwarf_Debug next_dbg = dbg;
        Dwarf_Die next = follow(d, &next_dbg, at, DW_AT_abstract_origin);
        if (!next)
            next = follow(d, &next_dbg, at, DW_AT_specification);
        if (at != die)
            hr_dwarf_free_die(dbg, at);
        at = next;
        dbg = next_dbg;
        if (!at)
            break;
    }
    if (at && at != die)
        hr_dwarf_free_die(dbg, at);
    if (!plain)
        plain = fallback;
    if (entry->text || !plain)
        return;
    entry->text =
        d->qualify ? qualified_name(d, declared_dbg, declared, plain, depth) : strdup(plain);
}

/* NULL: too deep or no memory. text NULL: it has no name. */
const struct name_entry *hr_dwarf_name_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die,
                                          unsigned depth)
{
    Dwarf_Off offset;
    Dwarf_Error error = NULL;
    if (depth > REFERENCE_DEPTH_MAX || !grow_names(d))
        return NULL;
    if (dwarf_dieoffset(die, &offset, &error) != DW_DLV_OK) {
        hr_dwarf_failed(d, error);
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
