/* SPDX-License-Identifier: MIT */
/* maps.h - the MAPPED_LIBRARIES of a dump.
 *
 * Layer profile; uses base, format, capture. Takes XP_RANK_MODULES for a moment. */
#ifndef XP_PROFILE_MAPS_H
#define XP_PROFILE_MAPS_H

#include "base/out.h"

/* What the kernel maps, as read before the rows of the dump were written. */
struct xp_maps {
    char *text; /* /proc/self/maps; NULL when it could not be had */
    size_t length, size;
};

/* Before the first row: modules that went are found out, so that the pcs of rows are moved to
 * where their module will be listed, and the maps are read, so that a module that goes while rows
 * are written is still in them. */
void xp_maps_read(struct xp_maps *ret_maps);

/* After the last row: writes the executable mappings of the process, the program's own first; then
 * modules that were unloaded, where their pcs have been moved to; then [nested] if has_nested.
 * Without the kernel's maps: the modules that capture knows. */
void xp_maps_write(const struct xp_maps *maps, struct xp_out *out, bool has_nested);

void xp_maps_fini(struct xp_maps *maps);

#endif
