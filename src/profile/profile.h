/* SPDX-License-Identifier: MIT */
/* profile.h - what the samples add up to, when to write it down, and the writing.
 *
 * Layer profile; uses core, capture, format, base. No malloc, no stdio. Functions that print a
 * message say so. errno is not touched. */
#ifndef XP_PROFILE_PROFILE_H
#define XP_PROFILE_PROFILE_H

#include "base/compiler.h"
#include "core/record.h"

struct xp_profile_options {
    const char *prefix;      /* absolute path prefix of the dumps; NULL: no automatic dump */
    uint64_t alloc_interval; /* dump each time so many bytes were allocated; 0 off */
    uint64_t
        inuse_interval; /* dump when in-use passed its last high-water mark by so many; 0 off */
    uint64_t dealloc_interval; /* dump each time so many bytes were freed; 0 off */
    uint64_t time_interval_ns; /* dump so often; 0 off. Driven by xp_profile_tick() */
    bool use_pid;              /* names are PREFIX_PID.NNNN.heap: children and second images */
    bool cleanup;              /* remove dumps of ours under prefix whose process has ended */
    uint64_t seed;             /* of the rounding of rows */
    uint64_t start_time_ns;    /* CLOCK_REALTIME at process start */
    const char *command;       /* command line, for the file's comments; borrowed for ever */
    const char *unwinder;      /* who walks stacks, for the comments: "cfi" if NULL; borrowed */
};

/* Once. Prints "Starting tracking the heap" when prefix is set. 0 or -ENOMEM. */
int xp_profile_init(const struct xp_profile_options *options);

/* A sampled block was made; a record was taken by a free. Cheap; called outside every lock. Signal
 * safe, also over itself. XP_NODE_NESTED is a node like any other. Nothing is dropped. */
void xp_profile_note_alloc(const struct xp_record *record);
void xp_profile_note_free(const struct xp_record *record);

/* Weighted totals so far: bytes and objects. */
struct xp_profile_totals {
    double alloc_objects, alloc_bytes, free_objects, free_bytes;
};
void xp_profile_totals_get(struct xp_profile_totals *ret_totals);

/* Has a byte trigger fired? Lock-free and cheap: to be asked after each sample. */
bool xp_profile_dump_due(void);
/* Writes the dump that a trigger asked for, if it still does. Prints. Not in a signal handler and
 * not inside a capture. */
void xp_profile_dump_if_due(void);
/* The time trigger, driven by a thread; returns the ns until the next tick. Prints. */
uint64_t xp_profile_tick(void);

/* Dump now. Prints "Dumping heap profile to FILE (REASON)", and one line on failure.
 * 0, -ENOENT when no prefix is set, or the -errno of the file. ret_path: NULL, or takes the
 * name, cut to path_size. Dumps exclude each other; the world goes on meanwhile. */
int xp_profile_dump(const char *reason, char *ret_path, size_t path_size);
/* The same, "Exiting, N MB in use" as the reason, never twice. */
void xp_profile_dump_at_exit(void);
/* The same to an open descriptor; nothing printed, no name used up. */
int xp_profile_write(int fd, const char *reason);

/* In a forked child: sums of the parent's threads stay (memory is inherited), names get the pid. */
void xp_profile_fork_child(void);

#endif
