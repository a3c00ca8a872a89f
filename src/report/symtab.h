/* SPDX-License-Identifier: MIT */
/* symtab.h - names of addresses by ELF symbol tables: functions only, sizes respected.
 *
 * Layer report; uses elf. An address outside of every symbol gets no name rather than a wrong one.
 * One pass over the table for all addresses together: no sorting, no copy of the table. */
#ifndef HR_REPORT_SYMTAB_H
#define HR_REPORT_SYMTAB_H

#include "report/elf.h"

struct hr_symbol {
    const char *name; /* as in the table, without a version; NULL none. Borrowed from elf */
    uint32_t length;  /* of name: it is not terminated where a version was cut off */
    uint64_t start;
    bool exported; /* a typed function that other files can call */
    uint32_t rank; /* private: how good the best candidate is */
};

enum hr_symtab { HR_SYMTAB, HR_DYNSYM };

/* Fills symbols[i] for those sorted addresses whose symbols[i].name is still NULL.
 * 0, -ENODATA when the file has no such table, or as hr_elf_section_data. */
int hr_symtab_find(struct hr_elf *elf, enum hr_symtab table, const uint64_t *addresses,
                   uint32_t count, struct hr_symbol *symbols, struct hr_error *err);

#endif
