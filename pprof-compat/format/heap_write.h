/* SPDX-License-Identifier: MIT */
/* heap_write.h - a .heap text profile, written piece by piece in the order of the file.
 *
 * Layer pprof-compat/format; uses base. No allocation; errors stick in the xp_out. */
#ifndef PP_FORMAT_HEAP_WRITE_H
#define PP_FORMAT_HEAP_WRITE_H

#include "base/out.h"
#include "format/heap_types.h"

/* "heap profile: N: B [0N: B] @ heapprofile": pre-weighted numbers, no reader rescales, and Go
 * always sees four value types (the zero before the bracket's count). */
void pp_heap_write_header(struct xp_out *out, const struct pp_counts *totals);
/* "# KEY VALUE"; value is escaped to one line and cut below 64 KiB. */
void pp_heap_write_comment(struct xp_out *out, const char *key, const char *value, size_t length);
/* Rows that are all zero are left out by the caller; bytes > 0 needs objects > 0. */
void pp_heap_write_row(struct xp_out *out, const struct pp_row *row);
/* The empty line and "MAPPED_LIBRARIES:". */
void pp_heap_write_maps_start(struct xp_out *out);
/* "# buildid START-LIMIT HEX": the build id of the file whose mappings follow inside that range. */
void pp_heap_write_build_id(struct xp_out *out, uint64_t start, uint64_t limit,
                            const unsigned char *id, size_t size);
/* One line in the form of /proc/PID/maps; " (deleted)" and the build id are not written. */
void pp_heap_write_mapping(struct xp_out *out, const struct pp_mapping *mapping);
/* "# end", the last line: without it the file is known to be cut. */
void pp_heap_write_end(struct xp_out *out);

#endif
