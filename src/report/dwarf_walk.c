/* SPDX-License-Identifier: MIT */
/* dwarf_walk.c - goes down the tree of a unit: functions, and what is inlined into them. */
#include "report/dwarf_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TREE_DEPTH_MAX 512

static void push_link(struct dwarf *d, struct place *place, const struct chain_link *link)
{
    if (place->chain_count >= HR_INLINE_DEPTH_MAX)
        return;
    if (hr_dwarf_grow(d, (void **)&place->chain, place->chain_count, &place->chain_room,
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
    const struct name_entry *name = hr_dwarf_name_of(d, d->dbg, visit->die, 0);
    uint64_t value;
    if (name) {
        visit->link.name = name->text;
        visit->link.mangled = name->mangled;
    }
    if (visit->offset == visit->function)
        return;
    if (hr_dwarf_number(d, visit->die, DW_AT_call_file, &value) && value <= UINT32_MAX)
        visit->link.call_file = (uint32_t)value;
    if (hr_dwarf_number(d, visit->die, DW_AT_call_line, &value) && value <= UINT32_MAX)
        visit->link.call_line = (uint32_t)value;
}

static void visit_range(struct dwarf *d, uint64_t low, uint64_t high, void *context)
{
    struct visit *visit = context;
    const struct hr_dwarf_query *q = d->query;
    for (uint32_t i = hr_dwarf_first_in_unit(d, low);
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
    uint32_t i = hr_dwarf_first_in_unit(d, low);
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
        return hr_dwarf_failed(d, error);
    bool is_function = tag == DW_TAG_subprogram;
    struct visit visit = {
        .die = die, .offset = offset, .function = is_function ? offset : walk->function};
    if (is_function || walk->function)
        hr_dwarf_each_range(d, die, visit_range, &visit);
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
        return hr_dwarf_failed(d, error);
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
            enter = !hr_dwarf_each_range(d, die, only_look, &hit) || hit || walk->deep;
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
        hr_dwarf_free_die(d->dbg, child);
        child = next;
    }
    if (status == DW_DLV_ERROR)
        return hr_dwarf_failed(d, error);
    if (status == DW_DLV_OK)
        hr_dwarf_free_die(d->dbg, child);
    return r;
}

static bool all_found(const struct dwarf *d)
{
    for (uint32_t i = 0; i < d->index_count; i++)
        if (!d->places[d->indexes[i]].function)
            return false;
    return true;
}

int hr_dwarf_walk(struct dwarf *d, Dwarf_Die unit_die)
{
    const struct walk walk = {0};
    int r = walk_children(d, unit_die, &walk);
    if (r < 0 || all_found(d))
        return r;
    /* Functions inside of functions or of local classes; rare enough to look twice. */
    const struct walk deep = {.deep = true};
    return walk_children(d, unit_die, &deep);
}
