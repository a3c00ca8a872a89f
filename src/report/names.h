/* SPDX-License-Identifier: MIT */
/* names.h - the ladder of one module, climbed inside a worker: DWARF, symtab, dynsym; and the
 * records it sends.
 *
 * Layer report; uses modules, dwarf, symtab, demangle, worker. The structs below are what crosses
 * the pipe: same program on both ends, so the compiler's layout; the receiver checks every field.
 */
#ifndef HR_REPORT_NAMES_H
#define HR_REPORT_NAMES_H

#include "report/dwarf.h"
#include "report/modules.h"
#include "report/worker.h"

#define HR_NAMES_STRING_MAX  16384u                /* longer names are cut */
#define HR_NAMES_STRINGS_MAX (UINT64_C(256) << 20) /* bytes per job */
#define HR_NAMES_FRAMES_MAX  HR_INLINE_DEPTH_MAX

enum hr_rung { HR_RUNG_NONE, HR_RUNG_DYNSYM, HR_RUNG_SYMTAB, HR_RUNG_DWARF };

/* HR_NAMES_STRING: its bytes; numbers count from 0 in each job.
 * HR_NAMES_ADDRESS: struct hr_names_address, then its frames, innermost first.
 * HR_NAMES_SUMMARY: struct hr_names_summary, once at the end. */
enum hr_names_record { HR_NAMES_STRING, HR_NAMES_ADDRESS, HR_NAMES_SUMMARY };

struct hr_names_address {
    uint32_t index; /* of the address in the job */
    uint32_t rung;  /* enum hr_rung */
    uint32_t count; /* of frames */
};

struct hr_names_frame {
    uint32_t function, system_name, file; /* string numbers; HR_NONE for none */
    uint32_t line;
};

struct hr_names_summary {
    uint32_t damaged_units, split_units, missing_alt;
    char text[256]; /* why a table could not be read; "" fine */
};

struct hr_names_job {
    const struct hr_module *module;
    const uint64_t *addresses; /* virtual addresses of the file, ascending, no doubles */
    uint32_t count;
    uint32_t share, shares;
    bool symtab_only;
    enum hr_demangle demangle;
};

/* In the worker. Sends all it finds; what it allocates dies with the process. */
void hr_names_find(struct hr_wire *wire, const struct hr_names_job *job);

#endif
