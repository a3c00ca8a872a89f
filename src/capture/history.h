/* SPDX-License-Identifier: MIT */
/* history.h - which module an address belongs to, for the other rooms of this layer.
 *
 * Layer capture, internal. A module is a small number, from 1; 0 stands for code of no module. The
 * generation counts the times that a module which stacks passed through was found gone. */
#ifndef XP_CAPTURE_HISTORY_H
#define XP_CAPTURE_HISTORY_H

#include "base/compiler.h"

/* Reads the program's own path once. Never fails: what is missing stays unnamed. */
void xp_history_init(void);

/* What the unwinder needs to know of a module that is loaded now. */
struct xp_code {
    uintptr_t text_start, text_end; /* executable part */
    const uint8_t *frame_header;    /* .eh_frame_hdr, NULL: no unwind information */
    const uint8_t *low, *high;      /* the readable segment around it: bounds of all its tables */
    unsigned module;                /* 0: could not be recorded */
    bool is_loader;                 /* ld.so */
};

/* False: address lies in no module. No lock and no system call for a module seen before. */
bool xp_history_find(uintptr_t address, struct xp_code *ret_code);
unsigned xp_history_index_of(uintptr_t address);

/* Changes whenever rules and pcs of some module may have become stale. */
uint32_t xp_history_generation(void);

/* True while some thread is inside a dlclose: what is remembered of an address may be of the past.
 */
bool xp_history_is_closing(void);

bool xp_history_is_loaded(unsigned module);
/* The number of pc in dumps: pc itself while its module is loaded. */
uintptr_t xp_history_relocate(unsigned module, uintptr_t pc);

void xp_history_fork_prepare(void);
void xp_history_fork_parent(void);
void xp_history_fork_child(void);

#endif
