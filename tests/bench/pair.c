/* SPDX-License-Identifier: MIT */
/* pair.c - malloc and free of one size: at once, or first in first out over a few live blocks. */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

enum { THREADS, SIZE, LIVE };

static struct parameter parameters[] = {
    [THREADS] = {"threads", 1, 1, 256, NULL},
    [SIZE] = {"size", 64, 1, 1 << 20, NULL},
    [LIVE] = {"live", 0, 0, 1 << 20, NULL},
};

static void pairs(struct worker *self)
{
    size_t size = (size_t)parameters[SIZE].value;
    uint64_t operations = 0;

    for (; worker_goes_on(); operations++) {
        char *block = malloc(size);
        if (!block)
            workload_no_memory();
        *(volatile char *)block = 1;
        free(block);
    }
    worker_done(self, operations);
}

static void queue(struct worker *self)
{
    size_t size = (size_t)parameters[SIZE].value;
    unsigned live = (unsigned)parameters[LIVE].value, at = 0;
    char **slot = workload_table(live * sizeof(*slot));
    uint64_t operations = 0;

    for (; worker_goes_on(); operations++) {
        free(slot[at]);
        char *block = malloc(size);
        if (!block)
            workload_no_memory();
        block[0] = 1;
        slot[at] = block;
        at = at + 1 < live ? at + 1 : 0;
    }
    worker_done(self, operations);
    for (unsigned i = 0; i < live; i++)
        free(slot[i]);
}

int main(int argc, char **argv)
{
    struct measured measured;
    char name[32];
    double seconds = workload_arguments(
        argc, argv, "Allocates and frees one size; live=0 at once, else a queue of so many blocks.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    unsigned threads = (unsigned)parameters[THREADS].value;

    workload_run(threads, seconds, parameters[LIVE].value > 0 ? queue : pairs, NULL, &measured);
    snprintf(name, sizeof(name), "pair%u", threads);
    print_begin(name, measured_rate(&measured, 1e6), "Mops/s", &measured);
    print_end();
    return 0;
}
