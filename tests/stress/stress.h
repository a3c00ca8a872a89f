/* SPDX-License-Identifier: MIT */
/* stress.h - what the stress programs share: blocks with a checkable content, random work, a clock.
 *
 * A stress program does one kind of harm for argv[1] seconds and returns 0. Whatever it finds wrong
 * ends it by stress_fail(). Where STRESS_NULL_OK is set (system calls are made to fail), an
 * allocation may give NULL; the work goes on. */
#ifndef XP_STRESS_STRESS_H
#define XP_STRESS_STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads argv and the environment; call it first. */
void stress_start(int argc, char **argv);
/* False once the time is over. */
bool stress_running(void);
/* Prints what and aborts. Async-signal-safe. */
_Noreturn void stress_fail(const char *what);

struct stress_rng {
    uint64_t state;
};
uint64_t stress_random(struct stress_rng *rng);
/* 0 .. n-1 */
size_t stress_below(struct stress_rng *rng, size_t n);

/* A block that knows its size and content; its first bytes are this head. */
struct stress_block {
    size_t size;
    uint64_t key;
};

/* A block of a random size by a random entry point, filled. NULL only where that is allowed. */
struct stress_block *stress_alloc(struct stress_rng *rng);
/* The same with at most size_max bytes (>= 32). */
struct stress_block *stress_alloc_max(struct stress_rng *rng, size_t size_max);
/* Checks the content, then frees. NULL is fine. */
void stress_free(struct stress_block *block);
/* Fails if a byte is not what it was. */
void stress_check(const struct stress_block *block);
/* Checks, changes the size by realloc, fills anew; the old block where there was no memory. */
struct stress_block *stress_realloc(struct stress_rng *rng, struct stress_block *block);

/* Random work on a table of blocks: steps times one of alloc, free, realloc, check. */
#define STRESS_TABLE 211
struct stress_table {
    struct stress_block *blocks[STRESS_TABLE];
};
void stress_work(struct stress_rng *rng, struct stress_table *table, size_t steps);
void stress_clear(struct stress_table *table);
/* A thread that works on a table of its own until the time is over; seed is a number. */
void *stress_worker(void *seed);

/* xprof_dump() of the library, or nothing without it. */
void stress_dump(const char *reason);

#endif
