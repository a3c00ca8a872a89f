/* SPDX-License-Identifier: MIT */
/* heap_types.h - the pieces of a .heap text profile, as writer and reader exchange them.
 *
 * Layer pprof-compat/format; uses base. The grammar and the meaning of each number stand in
 * ../FORMAT.md. */
#ifndef PP_FORMAT_HEAP_TYPES_H
#define PP_FORMAT_HEAP_TYPES_H

#include "base/compiler.h"

/* The four numbers of a row or of the header. */
struct pp_counts {
    int64_t inuse_objects, inuse_bytes;
    int64_t alloc_objects, alloc_bytes;
};

enum pp_heap_kind {
    PP_HEAPPROFILE, /* "@ heapprofile": numbers are what they say */
    PP_HEAP_V2,     /* "@ heap_v2/RATE": samples, to be scaled row by row */
    PP_HEAP_V1,     /* "@ heap/RATE" or none: the older scaling */
    PP_GROWTH,      /* "@ growth": numbers are what they say */
};

struct pp_header {
    struct pp_counts totals;
    enum pp_heap_kind kind;
    int64_t rate; /* mean bytes between samples as scaling needs it; 1: exact; 0: not given */
};

/* One stack: pcs are return addresses, innermost first. The first may be the entry point of the
 * allocator. All pointers are borrowed during the call. */
struct pp_row {
    struct pp_counts counts;
    const uint64_t *pcs;
    size_t depth;
};

#define PP_BUILD_ID_MAX ((size_t)64) /* bytes; twice as many hex digits */

/* One line of MAPPED_LIBRARIES. */
struct pp_mapping {
    uint64_t start, limit, offset;
    uint64_t device, inode; /* device: major << 32 | minor */
    bool readable, writable, executable, is_private;
    bool deleted;     /* the path ended in " (deleted)", which is cut off */
    const char *path; /* not terminated; "" for anonymous memory; [vdso] and the like as they are */
    size_t path_length;
    /* Hex where the line or a comment gave it, else NULL. Lower case and terminated when it comes
     * from the reader of a file; as it stands in the line when it comes from pp_maps_line(). */
    const char *build_id;
    size_t build_id_length;
};

/* The keys of the '#' lines that are ours: "# KEY VALUE". ../FORMAT.md says what each holds. */
#define PP_KEY_LIBXPROF   "libxprof" /* the writer's version; first, and the mark of our files */
#define PP_KEY_RUN        "run"
#define PP_KEY_PID        "pid"
#define PP_KEY_PPID       "ppid"
#define PP_KEY_COMMAND    "command"
#define PP_KEY_STARTED    "started"
#define PP_KEY_TIME       "time"
#define PP_KEY_SEQUENCE   "sequence"
#define PP_KEY_REASON     "reason"
#define PP_KEY_INTERVAL   "interval"
#define PP_KEY_UNWINDER   "unwinder"
#define PP_KEY_NODES      "nodes"
#define PP_KEY_CAPTURES   "captures"
#define PP_KEY_VERIFIED   "verified"
#define PP_KEY_DIFFERENCE "difference"
#define PP_KEY_DROPS      "drops"
#define PP_KEY_RSS        "rss"
#define PP_KEY_ALLOCATOR  "allocator"
#define PP_KEY_BUILD_ID   "buildid" /* inside MAPPED_LIBRARIES, before the line it speaks of */
#define PP_KEY_END        "end"     /* the last line of a file of ours */

/* Keys under which the reader passes on lines that are not '#' lines. */
#define PP_KEY_WARN   "warn"   /* a "%warn" line */
#define PP_KEY_BINARY "binary" /* "binary=PATH" of a symbol block */

#endif
