/* SPDX-License-Identifier: MIT */
/* symbolize.h - addresses to functions, inlined functions, files and lines, in worker processes.
 *
 * Layer report; uses model, base. Workers are forked before any thread exists: a crash, a hang or a
 * memory hog of libdwarf on a hostile file costs that module's names and a diagnosis, not the
 * report. The ladder per module: DWARF, symtab, dynsym, nothing (then reports say module+offset).
 */
#ifndef HR_REPORT_SYMBOLIZE_H
#define HR_REPORT_SYMBOLIZE_H

#include "report/error.h"
#include "report/model.h"

enum hr_demangle { HR_DEMANGLE_SHORT, HR_DEMANGLE_FULL, HR_DEMANGLE_TEMPLATES, HR_DEMANGLE_NONE };

struct hr_symbolize_options {
    const char *const *binaries; /* files named by the user, tried for every module they fit */
    size_t binary_count;
    const char *const *debug_dirs; /* searched before /usr/lib/debug; build-id and debuglink */
    size_t debug_dir_count;
    const char *symfs; /* prefix put before recorded paths; NULL none */
    enum hr_demangle demangle;
    bool ignore_build_id; /* -ignore_build_id: use a file whose build id differs */
    bool symtab_only;     /* no DWARF: fast and coarse */
    unsigned workers;     /* 0: one per processor, at most 8 */
    unsigned timeout_s;   /* per module; 0: 60 */
    uint64_t memory_max;  /* bytes of address space per worker; 0: 4 GiB */
};

/* Fills frames of every location, and object and diagnosis of every mapping that has locations.
 * 0, or -errno with *err when nothing could be done at all (out of memory, no process): also then
 * the model is whole. A build-id mismatch is a diagnosis that names both ids and the override; but
 * a binary named by the user that fits no module is an error (-ENOEXEC), because it was asked for.
 */
int hr_symbolize(struct hr_model *model, const struct hr_symbolize_options *options,
                 struct hr_error *err);

#endif
