/* SPDX-License-Identifier: MIT */
/* deep.c - blocks allocated below many frames on one of 512 paths: what taking a stack costs. */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

enum { THREADS, FRAMES };

#define PATH_BITS 9
#define SLOTS     512u

static struct parameter parameters[] = {
    [THREADS] = {"threads", 1, 1, 256, NULL},
    [FRAMES] = {"frames", 60, PATH_BITS + 1, 1000, NULL},
};

/* Two call sites make two return addresses: a bit of path chooses one in each of the last frames.
 * What is behind the calls keeps them from becoming jumps, or one call. */
static char *__attribute__((noinline)) descend(unsigned frames, unsigned path, size_t size)
{
    char *block;

    if (frames == 0) {
        block = malloc(size);
        if (!block)
            workload_no_memory();
        block[0] = 1;
        return block;
    }
    if (frames <= PATH_BITS && (path >> (frames - 1) & 1)) {
        block = descend(frames - 1, path, size);
        __asm__ volatile("# one way" : "+r"(block));
    } else {
        block = descend(frames - 1, path, size);
        __asm__ volatile("# the other" : "+r"(block));
    }
    return block;
}

static void work(struct worker *self)
{
    unsigned frames = (unsigned)parameters[FRAMES].value;
    char *slot[SLOTS] = {NULL};
    uint64_t operations = 0;

    for (; worker_goes_on(); operations++) {
        unsigned path = random_below(&self->random, 1u << PATH_BITS);
        unsigned at = operations % SLOTS;
        free(slot[at]);
        slot[at] = descend(frames, path, 16 + random_below(&self->random, 1009));
    }
    worker_done(self, operations);
    for (unsigned i = 0; i < SLOTS; i++)
        free(slot[i]);
}

int main(int argc, char **argv)
{
    struct measured measured;
    char name[32];
    double seconds = workload_arguments(
        argc, argv, "Allocates 16 to 1024 bytes below so many frames, on 512 different paths.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));

    workload_run((unsigned)parameters[THREADS].value, seconds, work, NULL, &measured);
    snprintf(name, sizeof(name), "deep%u", (unsigned)parameters[FRAMES].value);
    print_begin(name, measured_rate(&measured, 1e6), "Mops/s", &measured);
    print_end();
    return 0;
}
