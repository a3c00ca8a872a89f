/* SPDX-License-Identifier: MIT */
/* entry.h - how an exported function says who called it.
 *
 * Layer preload. An exported function that is fast stays frameless and tail-jumps to its slow twin
 * with the arguments in place; any other one is its own twin. The twin has a frame pointer, so the
 * words above it are the caller's state: no frame of ours is ever in a stack. */
#ifndef XP_PRELOAD_ENTRY_H
#define XP_PRELOAD_ENTRY_H

#include "base/compiler.h"
#include "capture/capture.h"

/* What the program called; kept in the record of a sampled block. */
enum xp_entry {
    XP_ENTRY_MALLOC = 1,
    XP_ENTRY_CALLOC,
    XP_ENTRY_REALLOC,
    XP_ENTRY_REALLOCARRAY,
    XP_ENTRY_MEMALIGN,
    XP_ENTRY_ALIGNED_ALLOC,
    XP_ENTRY_POSIX_MEMALIGN,
    XP_ENTRY_VALLOC,
    XP_ENTRY_PVALLOC,
    XP_ENTRY_NEW,
    XP_ENTRY_NEW_ARRAY,
    XP_ENTRY_NEW_ALIGNED,
    XP_ENTRY_NEW_ARRAY_ALIGNED,
};

struct xp_call {
    struct xp_regs regs; /* of the caller */
    uintptr_t entry_pc;  /* inside the exported function: the leaf of the stack */
    enum xp_entry entry;
};

/* Our own NAME, whoever won its lookup: a reference to the global symbol could be answered by
 * another library. The assembler's local label leaves no second name at the address, by which the
 * readers of dumps would call it. One XP_OWN_LABEL(NAME) in the file that defines NAME. */
#define XP_OWN_LABEL(name) __asm__(".set .Lown_" #name ", " #name)
#define XP_OWN_PC(name)                                                                            \
    __extension__({                                                                                \
        uintptr_t pc_;                                                                             \
        __asm__("lea .Lown_" #name "+1(%%rip), %0" : "=r"(pc_));                                   \
        pc_;                                                                                       \
    })

/* In the twin of the exported function NAME. */
#define XP_CALL(name, which)                                                                       \
    {                                                                                              \
        xp_regs_of_caller(), XP_OWN_PC(name), (which)                                              \
    }

#define XP_SLOW_TWIN static XP_COLD

#endif
