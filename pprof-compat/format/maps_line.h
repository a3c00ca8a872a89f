/* SPDX-License-Identifier: MIT */
/* maps_line.h - one line of /proc/PID/maps, for dumps, roots and reports alike.
 *
 * Layer pprof-compat/format; uses base. Pure; hostile input. */
#ifndef PP_FORMAT_MAPS_LINE_H
#define PP_FORMAT_MAPS_LINE_H

#include "format/heap_types.h"

/* Parses one line without its newline: "start-end perms offset dev inode path", or the brief form
 * "start-end: path" and "start-end perms path (@off) buildid" of other writers. 0 or -EPROTO. */
int pp_maps_line(const char *line, size_t length, struct pp_mapping *ret_mapping);

#endif
