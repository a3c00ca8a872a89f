/* SPDX-License-Identifier: MIT */
/* heap.h - the allocator as preload sees it: blocks, samples that are due, threads, fork.
 *
 * Layer core; uses base. The fast paths are inline in core/fast.h; everything here is the way
 * around them. All functions are thread safe. They may be entered from a signal handler that
 * interrupted any of them on the same thread: such a call is served from the emergency path.
 * errno is never touched. Blocks are aligned to 16 bytes at least (8 below 16 bytes never
 * happens: the least class is 16). */
#ifndef XP_CORE_HEAP_H
#define XP_CORE_HEAP_H

#include "base/compiler.h"
#include "core/record.h"

struct rlimit64;

/* ---- start ---- */

/* Layers of the allocator. Each can be left out, to measure what it is worth; nothing else changes,
 * and every call still works. */
enum xp_layer {
    XP_LAYER_MAG = 1 << 0,       /* magazines of medium blocks; without: page lists, like small */
    XP_LAYER_BATCH = 1 << 1,     /* chains of remote frees; without: one CAS each */
    XP_LAYER_ADOPT = 1 << 2,     /* heaps and pages of ended threads are taken over by others */
    XP_LAYER_CUT = 1 << 3,       /* cut lists; without: small blocks are not sampled */
    XP_LAYER_POPULATE = 1 << 4,  /* pages that will be written are asked for by one call */
    XP_LAYER_PURGE = 1 << 5,     /* free memory goes back; without: only by xp_heap_trim() */
    XP_LAYER_HUGECACHE = 1 << 6, /* mappings of freed huge blocks are kept for a while */
    XP_LAYER_RUNCACHE = 1 << 7,  /* and runs of freed large ones, per thread */
    XP_LAYERS_ALL = (1 << 8) - 1
};

enum xp_thp {
    XP_THP_SYSTEM, /* what the system does by itself, without inflating what was purged */
    XP_THP_ALWAYS, /* memory for blocks asks for huge pages */
    XP_THP_NEVER,  /* and refuses them */
};

#define XP_PURGE_NEVER UINT64_MAX

/* How much one wants of what; all numbers are caught to be sensible by whoever reads them in. */
struct xp_core_options {
    size_t reserve_bytes;    /* address space to reserve first; 0: 1 TiB and down from there */
    uint64_t sample_bytes;   /* mean bytes between samples: 0 off, 1 every allocation */
    uint64_t seed;           /* of all sampling draws */
    size_t cache_max_bytes;  /* free blocks in the caches of all threads together; 0: none are kept;
                                SIZE_MAX: as much as the caches hold */
    uint64_t purge_delay_ns; /* age at which free slices go back to the system; 0: at once;
                                XP_PURGE_NEVER: neither by age nor by amount */
    size_t dirty_max_bytes;  /* amount at which they go at once; 0: max(8 MiB, peak/16) */
    enum xp_thp thp;         /* transparent huge pages */
    size_t heap_limit_bytes; /* blocks that would take the memory for blocks beyond it are refused;
                                0: no limit */
    uint32_t layers;         /* enum xp_layer, those that work */
};

/* What holds where nobody says otherwise: sampling off, all layers, 100 ms, no limits. */
void xp_core_options_default(struct xp_core_options *ret_options);

/* Called once, before the first slow path, by whoever reads the options; a second call is
 * ignored. Without it the defaults hold. 0 or -ENOMEM when not one segment can be had (then every
 * allocation fails cleanly). */
int xp_core_init(const struct xp_core_options *options);

/* ---- blocks ---- */

#define XP_ALLOC_ZERO 1u /* the block's first size bytes are zero */

/* Why an allocation must be looked at: it is the sampled one. */
struct xp_due {
    double weight;      /* 1/p of the draw that ran out, >= 1 */
    uint16_t row_class; /* xp_row_class() of the request */
};

#define XP_DUE 1

/* The way around the fast path. align: 0 or a power of two (16 and less mean nothing special).
 * 0 and *ret_block; or XP_DUE and *ret_due: nothing was allocated, the due state is consumed, and
 * the caller goes on with xp_heap_alloc_sampled() after it has taken the stack (a malloc in between
 * is not due again); or -ENOMEM, also for sizes above PTRDIFF_MAX. Size 0 gives a block of its own.
 */
int xp_heap_alloc_slow(size_t size, size_t align, unsigned flags, void **ret_block,
                       struct xp_due *ret_due);

/* A block that carries a copy of record. NULL where none can: without memory, or in a handler that
 * interrupted a slow path; xp_heap_alloc_unsampled() may still have one. */
void *xp_heap_alloc_sampled(size_t size, size_t align, unsigned flags,
                            const struct xp_record *record);

/* A block that is never sampled and moves no countdown: for a capture that failed. NULL without
 * memory. */
void *xp_heap_alloc_unsampled(size_t size, size_t align, unsigned flags);

enum xp_free_result {
    XP_FREE_DONE,    /* it was ours and is free now */
    XP_FREE_SAMPLED, /* its record was taken into *ret_record; the block is still there:
                        account, then xp_heap_release_sampled() */
    XP_FREE_FOREIGN, /* not in any range of ours */
    XP_FREE_INVALID, /* ours, but not a live block: double or wild free; nothing was changed */
};

/* The way around the fast path of free; p may be anything but NULL. */
enum xp_free_result xp_heap_free_slow(void *p, struct xp_record *ret_record);
void xp_heap_release_sampled(void *p);

/* A part of the above: true when p was a block in a page of another heap, and is free now. */
bool xp_remote_free(void *p);

/* Bytes usable from p on, 0 for foreign pointers. ask marks the record of a sampled block
 * (XP_RECORD_USABLE_ASKED): the program may use them all. */
size_t xp_heap_usable_size(const void *p, bool ask);

/* True when p lies in memory of this allocator. Lock-free. */
bool xp_heap_owns(const void *p);

/* realloc without a copy, in two steps.
 * Stay: true when a block of new_size would land in the same size class (or the same whole pages,
 * for large ones) as p: the block serves as it is, and the record of a sampled one now says
 * new_size. False: it must move or grow. */
bool xp_heap_resize_stay(void *p, size_t new_size);

/* Grow or shrink a large or huge block in place, or move its pages with mremap: no byte is copied
 * by hand. 0 and *ret_block (which may equal p); the block no longer carries a record: *ret_record
 * is filled and *ret_had_record true if it did. -ENOTSUP: p is small, or it cannot be done;
 * nothing changed; allocate, copy, free. The new size is a new allocation for the sampling:
 * *ret_due and *ret_is_due say whether it is sampled; then xp_heap_attach_record(). */
int xp_heap_resize_pages(void *p, size_t new_size, void **ret_block, struct xp_record *ret_record,
                         bool *ret_had_record, struct xp_due *ret_due, bool *ret_is_due);
void xp_heap_attach_record(void *p, const struct xp_record *record);

/* ---- records ---- */

/* Calls fn with a consistent copy of every live record, without a lock that an allocation or a
 * free would wait for; blocks that come or go meanwhile may be seen or not. */
void xp_heap_each_record(void (*fn)(const struct xp_record *record, void *block, void *arg),
                         void *arg);

/* The row of a dump that a request of size belongs to: dense numbers < XP_ROW_CLASSES, monotonic
 * in size; small and medium ones are the size classes themselves. */
#define XP_ROW_CLASSES 256
unsigned xp_row_class(size_t size);
/* The largest block size of that row: what the allocator really set aside. */
size_t xp_row_class_size(unsigned row_class);

/* The mean distance in force; 0 when sampling is off. */
uint64_t xp_heap_sample_bytes(void);

/* ---- threads, fork, limits ---- */

/* The calling thread ends: caches are given back, its heap rests until another thread adopts it.
 * Late allocations of the thread still work. Idempotent. */
void xp_heap_thread_exit(void);

/* Around fork(), on the forking thread. prepare waits at most 100 ms for each other thread that is
 * inside a slow path and then goes on without that heap. */
void xp_core_fork_prepare(void);
void xp_core_fork_parent(void);
void xp_core_fork_child(void);

/* The program is about to lower RLIMIT_AS to limit: give up reserved address space that is not in
 * use, so that what it has left is what it expects. */
void xp_core_limit_address_space(uint64_t limit);

/* The most that a reservation may count on beside RLIMIT_AS, as under mlockall(); 0: no more such.
 */
void xp_core_limit_reservations(uint64_t limit);

/* A step of giving free memory back, for a thread that has nothing else to do. The ns until the
 * next one is worth a call, 0: none ever is. */
uint64_t xp_heap_background(void);

/* Give free memory back to the system now. True if any was. */
bool xp_heap_trim(void);

/* ---- figures ---- */

/* Since the start, of all threads, also those that ended; a forked child goes on from what it
 * found.
 */
struct xp_core_stats {
    /* Calls that left the fast paths. */
    uint64_t slow_calls;   /* all that worked on a heap: allocations, frees, the ends of threads */
    uint64_t slow_small;   /* allocations that found the list of a small class empty */
    uint64_t slow_medium;  /* or the magazine of a medium one */
    uint64_t slow_large;   /* or wanted a run of slices */
    uint64_t slow_huge;    /* or a mapping of their own */
    uint64_t fresh_slices; /* slices that pages and large blocks took, used before or not */
    /* Blocks and pages that pass from thread to thread. */
    uint64_t remote_frees;  /* frees by a thread that is not the owner */
    uint64_t batched_frees; /* of these, those that went with another one */
    uint64_t adopted_heaps; /* heaps of ended threads that a new one took */
    uint64_t stolen_pages;  /* pages of resting heaps taken by others */
    /* Memory that goes back. */
    uint64_t purge_calls, purge_bytes;
    uint64_t purge_ns;         /* time in these calls */
    uint64_t purge_longest_ns; /* the longest that one slow path spent with them */
    uint64_t purge_held_back;  /* purges that were due and waited: no budget left */
    uint64_t purge_reused;     /* bytes wanted again within half a second: gone too early */
    /* Caches of what is large. */
    uint64_t run_hits, run_misses;   /* large blocks out of the cache of runs */
    uint64_t huge_hits, huge_misses; /* huge ones out of the cache of mappings */
    uint64_t huge_moves;             /* reallocations by mremap */
    uint64_t populate_calls, populate_bytes;
    /* The rest. */
    uint64_t samples;   /* due states consumed */
    uint64_t emergency; /* calls served while the thread was inside a slow path */
    uint64_t abandoned; /* heaps given up after a bounded wait */
    uint64_t invalid_frees;
    uint64_t refused; /* allocations beyond the heap limit */
    uint64_t heaps;   /* that there are, with a thread or resting */
    /* Now. */
    size_t committed_bytes; /* slices in use or dirty */
    size_t dirty_bytes;     /* free slices not yet given back */
    size_t huge_bytes;
    size_t live_bytes;   /* handed out by slow-path accounting: an estimate */
    size_t mapped_bytes; /* address space committed for blocks */
    size_t cached_bytes; /* free blocks in magazines and caches of runs and mappings */
};
void xp_core_stats_get(struct xp_core_stats *ret_stats);

#endif
