/* SPDX-License-Identifier: MIT */
/* dwarf_file.c - the file as libdwarf sees it: debug sections only, in our memory. */
#include "report/dwarf_state.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

void hr_dwarf_section(const struct dwarf_sections *s, const char *name, const uint8_t **ret_data,
                      uint64_t *ret_size)
{
    for (uint32_t i = 1; i < s->count; i++)
        if (strcmp(s->section[i].name, name) == 0) {
            *ret_data = s->section[i].data;
            *ret_size = s->section[i].size;
        }
}

int hr_dwarf_open(struct hr_elf *elf, struct dwarf_sections *sections, Dwarf_Debug *ret_dbg,
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
