/* SPDX-License-Identifier: MIT */
/* maps.h - the MAPPED_LIBRARIES of a dump.
 *
 * Layer profile; uses base, format, capture. Takes XP_RANK_MODULES for a moment. */
#ifndef XP_PROFILE_MAPS_H
#define XP_PROFILE_MAPS_H

#include "base/out.h"

/* Writes the executable mappings of the process, the program's own first; then modules that were
 * unloaded, where their pcs have been moved to; then [nested] if has_nested. Without /proc or
 * without memory for it: the modules that capture knows. Without memory for those, too: nothing
 * but the heading. */
void xp_maps_write(struct xp_out *out, bool has_nested);

#endif
