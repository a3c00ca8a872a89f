/* SPDX-License-Identifier: MIT */
/* elf_layout.h - what a mapped ELF file says of itself: text, unwind table, build id.
 *
 * Layer capture, internal. Reads memory by xp_os_peek() only: the file may be hostile, and it may
 * be unmapped meanwhile. */
#ifndef XP_CAPTURE_ELF_LAYOUT_H
#define XP_CAPTURE_ELF_LAYOUT_H

#include "capture/modules.h"

struct xp_elf_layout {
    uintptr_t text_start, text_end;       /* first to last executable segment, page-aligned */
    uint64_t text_offset;                 /* file offset of text_start */
    uintptr_t segment_start, segment_end; /* the readable segment that holds wanted */
    uintptr_t build_id_at;                /* where it lies; 0: there is none */
    uint8_t build_id_size;
    uint8_t build_id[XP_BUILD_ID_MAX];
};

/* The file mapped at start..end; wanted: an address whose segment is asked for, or 0. 0, -EFAULT
 * (not readable now: ask again later) or -ENOEXEC (it never will be). Then *ret_layout is a guess:
 * everything is text and nothing else is known. */
int xp_elf_layout_read(uintptr_t start, uintptr_t end, uintptr_t wanted,
                       struct xp_elf_layout *ret_layout);

#endif
