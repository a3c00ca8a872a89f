/* SPDX-License-Identifier: MIT */
/* dwarf.h - functions, inlined functions, files and lines of addresses out of debug information.
 *
 * Layer report; uses elf, demangle; the one user of libdwarf. Only units that hold a wanted address
 * are decoded, and each is freed before the next. Call it in a worker process: the library below
 * was not made for hostile files. Not thread safe. */
#ifndef HR_REPORT_DWARF_H
#define HR_REPORT_DWARF_H

#include "report/elf.h"

#define HR_INLINE_DEPTH_MAX 256u

struct hr_dwarf_frame {
    const char *function; /* NULL: only the line is known */
    bool mangled;         /* function is a linkage name; else put together and readable */
    const char *file;     /* full path as the compiler saw it; NULL unknown */
    uint32_t line;        /* 0 unknown */
};

/* Of what was met on the way; for the diagnosis. */
struct hr_dwarf_notes {
    uint32_t damaged_units;
    uint32_t split_units; /* with hits, whose .dwo file we do not read */
    char split_name[256]; /* of one of them */
    bool missing_alt;     /* names point into a dwz file that was not found */
};

struct hr_dwarf_query {
    struct hr_elf *elf;        /* has .debug_info */
    struct hr_elf *alt;        /* the dwz file, or NULL */
    const uint64_t *addresses; /* virtual addresses of elf, ascending, no doubles */
    uint32_t count;
    uint32_t share, shares; /* part share of shares: units with hits, split by size */
    /* Per address that this share has found, any order. frames[0] is the innermost; they are
     * borrowed for the call. */
    void (*take)(uint32_t index, const struct hr_dwarf_frame *frames, uint32_t count,
                 void *context);
    void *context;
};

/* mine[i] becomes true for each address that belongs to this share (those in no unit: share 0),
 * found or not. 0; -ENODATA no debug information; -ENOEXEC it cannot be read at all; -ENOMEM. */
int hr_dwarf_find(const struct hr_dwarf_query *query, bool *mine, struct hr_dwarf_notes *notes,
                  struct hr_error *err);

#endif
