/* SPDX-License-Identifier: MIT */
/* pairs.c - nanoseconds of malloc and free in a few simple patterns, for whatever malloc is there.
 *
 * Usage: pairs [pattern]; run it with and without LD_PRELOAD in turn and compare ratios. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPERATIONS 4000000u

static double now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e9 + (double)ts.tv_nsec;
}

/* One block at a time. */
static void pairs(size_t size, unsigned live)
{
    (void)live;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        char *volatile p = malloc(size);
        p[0] = 1;
        free(p);
    }
}

/* First in, first out, over `live` blocks. */
static void queue(size_t size, unsigned live)
{
    char **p = calloc(live, sizeof(*p));

    for (unsigned i = 0; i < OPERATIONS; i++) {
        unsigned at = i % live;
        free(p[at]);
        p[at] = malloc(size);
        p[at][0] = 1;
    }
    for (unsigned i = 0; i < live; i++)
        free(p[i]);
    free(p);
}

/* Random sizes up to `size`, random victims. */
static void churn(size_t size, unsigned live)
{
    char **p = calloc(live, sizeof(*p));
    uint64_t random = 12345;

    for (unsigned i = 0; i < OPERATIONS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        unsigned at = (unsigned)(random >> 33) % live;
        free(p[at]);
        p[at] = malloc((random >> 45) % size + 1);
        p[at][0] = 1;
    }
    for (unsigned i = 0; i < live; i++)
        free(p[i]);
    free(p);
}

static const struct pattern {
    const char *name;
    void (*run)(size_t size, unsigned live);
    size_t size;
    unsigned live;
} patterns[] = {
    {"pair-64", pairs, 64, 1},
    {"pair-4000", pairs, 4000, 1},
    {"pair-20000", pairs, 20000, 1},
    {"queue-64x100", queue, 64, 100},
    {"queue-1000x100", queue, 1000, 100},
    {"queue-4000x100", queue, 4000, 100},
    {"queue-32x20000", queue, 32, 20000},
    {"churn-500x10000", churn, 500, 10000},
    {"churn-9000x1000", churn, 9000, 1000},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        const struct pattern *pattern = &patterns[i];
        double best = 1e30;

        if (argc > 1 && strcmp(argv[1], pattern->name) != 0)
            continue;
        for (int round = 0; round < 3; round++) {
            double start = now_ns();
            pattern->run(pattern->size, pattern->live);
            double took = (now_ns() - start) / OPERATIONS;
            if (took < best)
                best = took;
        }
        printf("%-16s %6.2f ns\n", pattern->name, best);
    }
    return 0;
}
