/* SPDX-License-Identifier: MIT */
/* dwarf_state.h - what the rooms behind dwarf.h share: the one query that is being answered.
 *
 * Layer report, private to dwarf*.c: only they see libdwarf. A worker answers one query at a time.
 * Errors of libdwarf end the DIE or the unit at hand, never more: what was found stays found. */
#ifndef HR_REPORT_DWARF_STATE_H
#define HR_REPORT_DWARF_STATE_H

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>

#include "report/dwarf.h"
#include "report/dwarf_lines.h"

struct dwarf_sections {
    Dwarf_Obj_Access_Interface access; /* what libdwarf keeps a pointer to */
    struct {
        const char *name;
        const uint8_t *data;
        uint64_t size;
    } section[16]; /* [0] is the null section */
    uint32_t count;
};

struct unit {
    Dwarf_Off die_offset;
    Dwarf_Off end; /* of the unit in .debug_info */
    uint64_t base; /* low pc: what range lists are relative to */
    uint16_t version;
    bool has_ranges;
    bool hit;
};

struct unit_list {
    struct unit *items; /* ascending */
    uint32_t count, room;
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
    struct unit_list units, alt_units; /* of dbg and, once a name needed them, of alt */
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
    Dwarf_Debug top_dbg;
    Dwarf_Off top_unit;
    Dwarf_Off *top;
    uint32_t top_count, top_room;
};

/* ---- dwarf_file.c ---- */

int hr_dwarf_open(struct hr_elf *elf, struct dwarf_sections *sections, Dwarf_Debug *ret_dbg,
                  struct hr_error *err);
/* Leaves the outputs alone when there is no such section. */
void hr_dwarf_section(const struct dwarf_sections *s, const char *name, const uint8_t **ret_data,
                      uint64_t *ret_size);

/* ---- dwarf_die.c ---- */

/* Frees the error, if any; -ENOEXEC. */
int hr_dwarf_failed(struct dwarf *d, Dwarf_Error error);
/* Makes room in an array of *ret_room elements for one more than count; false without memory. */
bool hr_dwarf_grow(struct dwarf *d, void **array, uint32_t count, uint32_t *ret_room, size_t size);
void hr_dwarf_free_die(Dwarf_Debug dbg, Dwarf_Die die);
bool hr_dwarf_attribute(struct dwarf *d, Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *ret);
bool hr_dwarf_number(struct dwarf *d, Dwarf_Die die, Dwarf_Half name, uint64_t *ret_value);
/* NULL: none. The text lies in the sections. */
const char *hr_dwarf_text(struct dwarf *d, Dwarf_Die die, Dwarf_Half name);

typedef void hr_dwarf_take_range(struct dwarf *d, uint64_t low, uint64_t high, void *context);
/* Calls take unless the linker dropped that code. */
void hr_dwarf_give_range(struct dwarf *d, uint64_t low, uint64_t high, hr_dwarf_take_range *take,
                         void *context);
/* Calls take for each range of code of the DIE. False: it has none, or they cannot be read. */
bool hr_dwarf_each_range(struct dwarf *d, Dwarf_Die die, hr_dwarf_take_range *take, void *context);

/* ---- dwarf_names.c ---- */

/* The name of a function's DIE, made once. NULL: too deep or no memory. text NULL: it has none.
 * Valid until the next call; its text until the end. depth: 0 from outside. */
const struct name_entry *hr_dwarf_name_of(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Die die,
                                          unsigned depth);

/* ---- dwarf_walk.c ---- */

/* Gives each address of the unit its function and chain. -ENOEXEC: the tree is damaged. */
int hr_dwarf_walk(struct dwarf *d, Dwarf_Die unit_die);

/* ---- dwarf.c ---- */

/* The unit of dbg, which is one of our two, that holds a DIE; NULL none. */
struct unit *hr_dwarf_find_unit(struct dwarf *d, Dwarf_Debug dbg, Dwarf_Off offset);
/* First index into d->indexes whose address is >= value. */
uint32_t hr_dwarf_first_in_unit(const struct dwarf *d, uint64_t value);

#endif
