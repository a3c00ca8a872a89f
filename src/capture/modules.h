/* SPDX-License-Identifier: MIT */
/* modules.h - which file was mapped where, and until when.
 *
 * Layer capture; uses base. Lock: XP_RANK_MODULES, taken only when a module is seen for the first
 * time or by a dump. Never wraps dlopen: a module is noticed at the first capture that walks
 * through it, and checked by its link_map. */
#ifndef XP_CAPTURE_MODULES_H
#define XP_CAPTURE_MODULES_H

#include "base/compiler.h"

#define XP_BUILD_ID_MAX 64 /* bytes */

struct xp_module {
    uintptr_t start, end; /* where it lies in dumps: its real range while loaded; when unloaded a
                             range that no code of this process uses */
    uintptr_t text_start, text_end; /* the executable part of that range, same relocation */
    uint64_t text_offset;           /* file offset of text_start */
    uint32_t generation;
    bool loaded;
    uint8_t build_id_size;
    uint8_t build_id[XP_BUILD_ID_MAX];
    const char *path; /* absolute where the loader knows it; never NULL, valid for ever */
};

/* Around each dlclose, in pairs. In between nothing remembered of any module is believed: a capture
 * asks the loader and compares build ids, frame by frame, because another thread may already have
 * opened another library at the place of the one that goes. Afterwards rules and pcs of modules
 * that went are dropped. */
void xp_modules_closing(void);
void xp_modules_closed(void);

/* Looks which modules have gone without such a pair. */
void xp_modules_changed(void);

/* Calls fn for every module loaded now (all of them, whether a stack passed through or not: the
 * list comes from the loader's data without its lock where that can be had, else from what was
 * seen) and for every unloaded one that some stack passed through. Not for signal handlers. */
void xp_modules_each(void (*fn)(const struct xp_module *module, void *arg), void *arg);

#endif
