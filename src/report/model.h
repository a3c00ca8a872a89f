/* SPDX-License-Identifier: MIT */
/* model.h - a loaded profile as plain arrays: any format in, any report out.
 *
 * Layer report; uses base. One owner, no locks. Indexes are stable; index 0 of strings is "".
 * Counts are already estimates (scaled where the format keeps raw samples). */
#ifndef HR_REPORT_MODEL_H
#define HR_REPORT_MODEL_H

#include <stdint.h>

#include "base/compiler.h"

typedef uint32_t hr_string; /* index into the interned strings */

#define HR_NONE UINT32_MAX

enum hr_value { HR_ALLOC_OBJECTS, HR_ALLOC_SPACE, HR_INUSE_OBJECTS, HR_INUSE_SPACE, HR_VALUES };

struct hr_mapping {
    uint64_t start, limit, offset; /* executable ranges only */
    hr_string path;                /* as recorded; "[vdso]" and the like too */
    hr_string build_id;            /* lower-case hex; "" unknown */
    bool deleted;
    /* filled by symbolize: */
    hr_string object;    /* the file that was read instead of path, e.g. a debug file; "" none */
    hr_string diagnosis; /* one line why names are missing; "" when all is well */
    bool doubtful;       /* there are names, but diagnosis says why they may be wrong */
};

struct hr_frame {
    hr_string function;    /* demangled; "" unknown */
    hr_string system_name; /* as the symbol table has it */
    hr_string file;
    uint32_t line; /* 0 unknown */
    bool inlined;  /* into the next frame of the same location */
};

struct hr_location {
    uint64_t pc;          /* as in the profile: return address (a text pc) */
    uint64_t address;     /* inside the call: what is looked up (pc - 1 for text profiles) */
    uint32_t mapping;     /* index, HR_NONE when no mapping holds it */
    uint32_t frame_first; /* frames [first, first + count), innermost inline first */
    uint32_t frame_count; /* 0: not symbolized */
};

struct hr_sample {
    int64_t values[HR_VALUES];
    int64_t block_bytes;  /* mean size of its blocks as the file has it, before any scaling */
    uint32_t stack_first; /* stack[first .. first + depth): location indexes, innermost first */
    uint32_t depth;
};

struct hr_model {
    struct hr_mapping *mappings;
    uint32_t mapping_count;
    struct hr_frame *frames;
    uint32_t frame_count;
    struct hr_location *locations;
    uint32_t location_count;
    struct hr_sample *samples;
    uint32_t sample_count;
    uint32_t *stack;
    uint32_t stack_count;
    struct hr_strings *strings;
    /* what the file said of itself; "" or 0 when it did not */
    hr_string kind;    /* "heapprofile", "heap_v2", "growth" */
    hr_string program; /* path of the main binary */
    hr_string command, reason, run_id, writer_version;
    int64_t sample_bytes; /* mean distance; 0 unknown, 1 exact */
    int64_t pid, time_ns;
    int64_t sequence; /* number of the dump in its process, from 1 */
    bool has_alloc;   /* the alloc_* numbers were measured */
};

struct hr_model *hr_model_create(void); /* NULL without memory */
void hr_model_destroy(struct hr_model *model);

/* Interned; the same text gives the same index. HR_NONE without memory. */
hr_string hr_string_intern(struct hr_model *model, const char *text, size_t length);
/* Never NULL; valid until the model is destroyed. */
const char *hr_string_text(const struct hr_model *model, hr_string string);

/* Each appends one and returns its index, or HR_NONE without memory. */
uint32_t hr_model_add_mapping(struct hr_model *model, const struct hr_mapping *mapping);
uint32_t hr_model_add_frame(struct hr_model *model, const struct hr_frame *frame);
/* Finds or adds the location of a pc. */
uint32_t hr_model_location(struct hr_model *model, uint64_t pc, uint64_t address);
uint32_t hr_model_add_sample(struct hr_model *model, const struct hr_sample *sample,
                             const uint32_t *locations);
/* Gives every location the mapping that holds its address; after the last mapping. */
int hr_model_resolve_mappings(struct hr_model *model);

#endif
