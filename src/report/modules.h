/* SPDX-License-Identifier: MIT */
/* modules.h - which file on this machine holds the code of a mapping, and is it the right one?
 *
 * Layer report; uses model, symbolize.h, elf. Files are tried in this order: those the user named,
 * under -symfs, the recorded path, build-id directories; the debug file by build id, then by
 * .gnu_debuglink. Only headers are read here. A build id that differs is refused with both ids in
 * the diagnosis. Without build ids in the profile the path is trusted. */
#ifndef HR_REPORT_MODULES_H
#define HR_REPORT_MODULES_H

#include "report/elf.h"
#include "report/symbolize.h"

/* One file of the profile, with all its mappings. */
struct hr_module {
    hr_string path, build_id;
    bool deleted;
    bool wanted;          /* has locations to name */
    struct hr_elf *elf;   /* the file itself; NULL: not found or refused */
    struct hr_elf *debug; /* its separate debug file, or NULL */
    struct hr_elf *alt;   /* the dwz file of whichever has the debug information, or NULL */
    const char *object;   /* path of the file read instead of the recorded one, or NULL */
    char *diagnosis;      /* why there is no file, or what is odd about it; NULL fine. Owned */
};

struct hr_modules {
    struct hr_module *modules;
    uint32_t count;
    uint32_t *of_mapping;     /* per mapping of the model: index of its module */
    struct hr_elf **binaries; /* named by the user; owned here, borrowed by modules */
    size_t binary_count;
};

/* Groups mappings into modules and finds the files of those that have locations without frames.
 * -ENOEXEC with *err when a binary named by the user cannot be read or fits no module. */
int hr_modules_create(const struct hr_model *model, const struct hr_symbolize_options *options,
                      struct hr_modules **ret_modules, struct hr_error *err);
void hr_modules_destroy(struct hr_modules *modules); /* NULL is fine */

/* The file that has debug information: the module's own or the separate one. NULL: none. */
struct hr_elf *hr_module_dwarf(const struct hr_module *module);

/* Address in memory to virtual address in the file. -ERANGE: not in a segment of the file. */
int hr_module_vaddr(const struct hr_module *module, const struct hr_mapping *mapping,
                    uint64_t address, uint64_t *ret_vaddr);

#endif
