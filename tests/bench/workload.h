/* SPDX-License-Identifier: MIT */
/* workload.h - what every workload needs: arguments, clocks, threads, memory figures, one line.
 *
 * A workload is run as `PROGRAM SECONDS [NAME=VALUE ...]` and prints one line,
 *     NAME VALUE UNIT key=value key=value ...
 * that the driver (tests/bench/run) reads. Nothing here calls malloc while a workload runs, so that
 * all a measurement sees of the allocator is what the workload asks of it. */
#ifndef BENCH_WORKLOAD_H
#define BENCH_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- arguments ---- */

struct parameter {
    const char *name;
    double value;       /* as preset, then as given; of a choice: the index of the word */
    double least, most; /* unused by a choice */
    const char *words;  /* of a choice, separated by |; NULL for a number */
};

/* Reads SECONDS and the NAME=VALUE arguments into parameters. What it cannot read ends the program
 * with one line and status 2; --help prints the usage and ends it with 0. */
double workload_arguments(int argc, char **argv, const char *does, struct parameter *parameters,
                          size_t count);

/* The word a choice stands at; its length is *ret_length. */
const char *workload_word(const struct parameter *parameter, int *ret_length);

/* ---- clocks and figures ---- */

uint64_t clock_ns(void);
uint64_t cpu_ns(void);   /* of the whole process */
size_t rss_bytes(void);  /* exact, now */
size_t peak_bytes(void); /* the most it ever was */
uint64_t minor_faults(void);
void sleep_ns(uint64_t ns);

/* Zeroed memory that is not the allocator's. Ends the program when there is none. */
void *workload_table(size_t bytes);
/* Memory is exhausted: one line, status 1. */
void workload_no_memory(void) __attribute__((noreturn, cold));

/* ---- random numbers: a 64-bit multiply, the high half ---- */

static inline uint32_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* From 0 to range - 1. */
static inline uint32_t random_below(uint64_t *state, uint32_t range)
{
    return (uint32_t)(((uint64_t)random_next(state) * range) >> 32);
}

/* ---- threads that work until time is up ---- */

struct worker {
    unsigned index;
    uint64_t random;     /* seeded by index: the same in every run */
    uint64_t operations; /* set by the work */
    uint64_t end_ns;     /* set by the work with worker_done(), before it cleans up */
    void *shared;
} __attribute__((aligned(128)));

extern bool workload_time_is_up;

static inline bool worker_goes_on(void)
{
    return !__atomic_load_n(&workload_time_is_up, __ATOMIC_RELAXED);
}

static inline void worker_done(struct worker *self, uint64_t operations)
{
    self->operations = operations;
    self->end_ns = clock_ns();
}

struct measured {
    uint64_t operations;
    double seconds, cpu_seconds;
    uint64_t faults;
};

/* Runs work in count threads that start together; after `seconds` worker_goes_on() is false. With
 * one thread it runs in the main one, so that the process stays single-threaded. */
void workload_run(unsigned count, double seconds, void (*work)(struct worker *self), void *shared,
                  struct measured *ret_measured);

/* Operations per second, in thousands or millions for example. */
static inline double measured_rate(const struct measured *measured, double unit)
{
    return (double)measured->operations / measured->seconds / unit;
}

/* For work that is one piece: begin, do it, end. */
void measure_begin(struct measured *measured);
void measure_end(struct measured *measured, uint64_t operations);

/* A few small blocks every 10 ms, as an almost idle server does it. */
void light_work(double seconds);

/* ---- the line ---- */

/* NAME VALUE UNIT and the figures all workloads have; more keys by print_key(); print_end(). */
void print_begin(const char *name, double value, const char *unit, const struct measured *measured);
void print_key(const char *key, double value);
void print_end(void);

#ifdef __cplusplus
}
#endif
#endif
