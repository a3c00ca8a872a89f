/* SPDX-License-Identifier: MIT */
/* server.c - a server's day: log-normal sizes, short, medium and long lives, phases, an evening.
 *
 * The work is a count, not a time, so that what is live at the end is the same for every allocator.
 * Printed are operations per second, and after the last phase, when most is freed and a second of
 * light work has gone by: RSS, live bytes, and the pages of the system that hold a live byte, which
 * is what no allocator can give back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "workload.h"

enum { THREADS, LONG };

#define SIZE_LEAST   16u
#define SIZE_MOST    262144u
#define SIGMA        1.6
#define SIZES        16384u /* drawn beforehand: no logarithm while it runs */
#define SHORT_LIVES  64u
#define MEDIUM_LIVES 2048u
#define PAGE         4096u
/* About what the C library does on two cores: SECONDS is what it says within a factor of two.
 */
#define OPERATIONS_PER_SECOND 6000000.0

static struct parameter parameters[] = {
    [THREADS] = {"threads", 4, 1, 64, NULL},
    [LONG] = {"long", 65536, 1024, 1e8, NULL},
};

/* Each block says in its first word how long it is: the last look at the heap needs it. */
struct block {
    size_t size;
};

static const struct phase {
    double median;       /* of the sizes, bytes */
    unsigned long_of_64; /* of 64 allocations, how many live long ... */
    unsigned medium_of_64;
} phases[] = {
    {64, 4, 16}, {300, 4, 16}, {64, 1, 30}, {1200, 2, 16}, {100, 8, 20}, {250, 2, 16},
};

#define PHASES (sizeof(phases) / sizeof(phases[0]))

static struct {
    uint32_t *sizes[PHASES];
    struct block **longs; /* exchanged by all threads: they free one another's blocks */
    unsigned longs_count;
    uint64_t per_phase;
    size_t table_bytes;
} day;

static void *day_table(size_t bytes)
{
    day.table_bytes += (bytes + PAGE - 1) / PAGE * PAGE;
    return workload_table(bytes);
}

static double uniform(uint64_t *random)
{
    return ((double)random_next(random) + 0.5) / 4294967296.0;
}

static void draw_sizes(void)
{
    uint64_t random = 4711;

    for (unsigned p = 0; p < PHASES; p++) {
        day.sizes[p] = day_table(SIZES * sizeof(uint32_t));
        for (unsigned i = 0; i < SIZES; i++) {
            double normal = sqrt(-2 * log(uniform(&random))) * cos(6.283185307 * uniform(&random));
            double size = phases[p].median * exp(SIGMA * normal);
            size = size < SIZE_LEAST ? SIZE_LEAST : size > SIZE_MOST ? SIZE_MOST : size;
            day.sizes[p][i] = (uint32_t)size;
        }
    }
}

static struct block *allocate(size_t size)
{
    struct block *block = malloc(size);
    if (!block)
        workload_no_memory();
    for (size_t at = 0; at < size; at += PAGE)
        ((char *)block)[at] = 1;
    ((char *)block)[size - 1] = 1;
    block->size = size;
    return block;
}

static void live_through(struct worker *self, const struct phase *phase, const uint32_t *sizes,
                         struct block **shorts, struct block **mediums)
{
    for (uint64_t i = 0; i < day.per_phase; i++) {
        struct block *block = allocate(sizes[random_next(&self->random) % SIZES]), *old;
        unsigned lot = random_below(&self->random, 64);
        if (lot < phase->long_of_64) {
            unsigned at = random_below(&self->random, day.longs_count);
            old = __atomic_exchange_n(&day.longs[at], block, __ATOMIC_ACQ_REL);
        } else {
            struct block **slot = &shorts[i % SHORT_LIVES];
            if (lot < phase->long_of_64 + phase->medium_of_64)
                slot = &mediums[random_below(&self->random, MEDIUM_LIVES)];
            old = *slot;
            *slot = block;
        }
        free(old);
    }
}

static void work(struct worker *self)
{
    struct block **shorts =
        (struct block **)self->shared + self->index * (SHORT_LIVES + MEDIUM_LIVES);
    struct block **mediums = shorts + SHORT_LIVES;

    for (unsigned p = 0; p < PHASES; p++)
        live_through(self, &phases[p], day.sizes[p], shorts, mediums);
    worker_done(self, day.per_phase * PHASES);
    for (unsigned i = 0; i < SHORT_LIVES + MEDIUM_LIVES; i++)
        free(shorts[i]);
}

/* The evening: seven in ten of the long-lived go, at random. */
static void free_most(void)
{
    uint64_t random = 1801;

    for (unsigned i = 0; i < day.longs_count; i++) {
        if (random_below(&random, 10) < 7) {
            free(day.longs[i]);
            day.longs[i] = NULL;
        }
    }
}

static int by_number(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return left < right ? -1 : left > right;
}

/* Sorting would allocate: a heap sort in place does not. */
static void sort_pages(uintptr_t *page, size_t count)
{
    for (size_t start = count / 2, end = count; end > 1;) {
        if (start > 0) {
            start--;
        } else {
            end--;
            uintptr_t last = page[end];
            page[end] = page[0];
            page[0] = last;
        }
        for (size_t root = start, child; (child = 2 * root + 1) < end; root = child) {
            if (child + 1 < end && by_number(&page[child], &page[child + 1]) < 0)
                child++;
            if (by_number(&page[root], &page[child]) >= 0)
                break;
            uintptr_t swap = page[root];
            page[root] = page[child];
            page[child] = swap;
        }
    }
}

/* What is live, and the pages it lies in: each counted once. */
static size_t live_pages(size_t *ret_live_bytes)
{
    size_t live = 0, most = 0, count = 0, distinct = 0;

    for (unsigned i = 0; i < day.longs_count; i++) {
        if (day.longs[i]) {
            live += day.longs[i]->size;
            most += day.longs[i]->size / PAGE + 2;
        }
    }
    uintptr_t *page = workload_table(most * sizeof(*page) + 1);
    for (unsigned i = 0; i < day.longs_count; i++) {
        uintptr_t start = (uintptr_t)day.longs[i];
        if (!start)
            continue;
        for (uintptr_t at = start / PAGE; at <= (start + day.longs[i]->size - 1) / PAGE; at++)
            page[count++] = at;
    }
    sort_pages(page, count);
    for (size_t i = 0; i < count; i++)
        distinct += i == 0 || page[i] != page[i - 1];
    *ret_live_bytes = live;
    return distinct;
}

int main(int argc, char **argv)
{
    struct measured measured;
    double seconds = workload_arguments(
        argc, argv, "Log-normal sizes from 16 B to 256 KiB in phases; the work of about SECONDS.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    unsigned threads = (unsigned)parameters[THREADS].value;
    size_t program_bytes = rss_bytes();

    day.longs_count = (unsigned)parameters[LONG].value;
    day.longs = day_table(day.longs_count * sizeof(*day.longs));
    day.per_phase = (uint64_t)(seconds * OPERATIONS_PER_SECOND / threads / PHASES) + 1;
    draw_sizes();
    struct block **own = day_table(threads * (SHORT_LIVES + MEDIUM_LIVES) * sizeof(*own));

    workload_run(threads, 3600, work, own, &measured);
    free_most();
    light_work(seconds < 1 ? seconds : 1);

    size_t rss = rss_bytes() - day.table_bytes, peak = peak_bytes() - day.table_bytes, live;
    size_t pages = live_pages(&live);
    print_begin("server", measured_rate(&measured, 1e6), "Mops/s", &measured);
    print_key("end_mib", (double)rss / 1048576);
    print_key("heap_peak_mib", (double)peak / 1048576);
    print_key("live_mib", (double)live / 1048576);
    print_key("live_pages", (double)pages);
    print_key("live_pages_mib", (double)(pages * PAGE) / 1048576);
    print_key("program_mib", (double)program_bytes / 1048576);
    print_key("rss_per_live", (double)rss / (double)live);
    print_end();
    return 0;
}
