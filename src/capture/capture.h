/* SPDX-License-Identifier: MIT */
/* capture.h - the caller's registers in, a call-tree node out.
 *
 * Layer capture; uses base. No malloc, no lock and no system call when warm. Safe in a signal
 * handler as long as the thread is not inside a capture already: the caller keeps the re-entry
 * flag. errno is not touched. */
#ifndef XP_CAPTURE_CAPTURE_H
#define XP_CAPTURE_CAPTURE_H

#include "base/compiler.h"
#include "capture/tree.h"

/* The state of the function that called our exported entry point, right after the call returns. */
struct xp_regs {
    uintptr_t pc; /* return address */
    uintptr_t sp; /* stack pointer after the return: the entry point's CFA */
    uintptr_t fp; /* rbp as the caller left it */
};

/* In a function that was reached by a tail jump from the exported entry point, and that has a
 * frame pointer of its own (__builtin_frame_address forces one): the caller's state. */
XP_ALWAYS_INLINE struct xp_regs xp_regs_of_caller(void)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    return (struct xp_regs){.pc = frame[1], .sp = (uintptr_t)(frame + 2), .fp = frame[0]};
}

struct xp_capture_options {
    unsigned depth;        /* most frames kept, 1..XP_DEPTH_MAX; 0: 128 */
    size_t nodes_max;      /* most call-tree nodes; 0: 8 Mi */
    uint32_t verify_every; /* every n-th capture is also done by libunwind and compared; 0: never */
    bool use_libunwind;    /* libunwind instead of our walker */
};

#define XP_DEPTH_MAX     1024
#define XP_DEPTH_DEFAULT 128

/* Once, before the first capture. libunwind is opened (dlopen, RTLD_LOCAL) only by
 * xp_capture_open_reference(), which may call malloc and belongs into a constructor. 0 or -ENOMEM.
 */
int xp_capture_init(const struct xp_capture_options *options);
/* 0; -ENOENT when libunwind.so.8 cannot be opened. Does nothing if no option asks for it. */
int xp_capture_open_reference(void);

/* What a thread keeps between captures; zeroed memory is a good start. The owner of the thread
 * (preload) holds it; nothing in it needs freeing. */
struct xp_capture_thread {
    uintptr_t stack_low, stack_high; /* bounds set by xp_capture_thread_bounds(), else 0 */
    uintptr_t valid_low, valid_high; /* pages that the kernel said can be read, outside of them */
    void *suffix;                    /* reserved for suffix reuse */
};

/* The thread's stack, as far as it is known to stay mapped: anything from the address of a local
 * in its start function up to the top. */
void xp_capture_thread_bounds(struct xp_capture_thread *thread, uintptr_t low, uintptr_t high);

enum xp_capture_flags {
    XP_STACK_CUT = 1,     /* deeper than the depth limit: the outermost frames are missing */
    XP_STACK_NO_CFI = 2,  /* ended at a pc without unwind information */
    XP_STACK_GUESSED = 4, /* some step trusted a frame pointer */
    XP_STACK_BAD = 8,     /* ended at a frame that cannot be true */
    XP_STACK_FULL = 16,   /* the call tree is full: charged to the nearest ancestor */
};

/* entry_pc: an address inside the exported function (its start + 1); it becomes the leaf.
 * Never fails: in the worst case the node is the entry point's alone. */
xp_node xp_capture(struct xp_capture_thread *thread, const struct xp_regs *regs, uintptr_t entry_pc,
                   unsigned *ret_flags);

/* The frames themselves, from regs->pc outwards: return addresses, at most max of them; the count.
 * Nothing is inserted into the tree. */
size_t xp_capture_pcs(struct xp_capture_thread *thread, const struct xp_regs *regs, uintptr_t *pcs,
                      size_t max);

struct xp_capture_stats {
    uint64_t captures, frames, rule_misses, guessed, cut, bad, no_cfi, tree_full;
    uint64_t verified, verify_differs;
    size_t nodes, nodes_max, pcs;
};
void xp_capture_stats_get(struct xp_capture_stats *ret_stats);

/* Where our walker and libunwind disagreed, for the first few times it happened. */
#define XP_DIFFERENCE_FRAMES 24
struct xp_capture_difference {
    size_t first;   /* number of the first frame that differs, from the leaf */
    size_t skipped; /* number of the first frame kept below */
    size_t ours_count, theirs_count;
    uintptr_t ours[XP_DIFFERENCE_FRAMES], theirs[XP_DIFFERENCE_FRAMES];
};
/* Fills at most max of them; the count. */
size_t xp_capture_differences(struct xp_capture_difference *ret_differences, size_t max);

void xp_capture_fork_prepare(void);
void xp_capture_fork_parent(void);
void xp_capture_fork_child(void);

#endif
