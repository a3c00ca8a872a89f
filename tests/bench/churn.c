/* SPDX-License-Identifier: MIT */
/* churn.c - each thread frees a random one of its blocks and allocates another of random size. */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

enum { THREADS, SLOTS, LEAST, MOST, TOUCH };

static struct parameter parameters[] = {
    [THREADS] = {"threads", 1, 1, 256, NULL},   [SLOTS] = {"slots", 128, 1, 65536, NULL},
    [LEAST] = {"least", 16, 1, 1 << 20, NULL},  [MOST] = {"most", 4095, 1, 1 << 20, NULL},
    [TOUCH] = {"touch", 0, 0, 0, "first|ends"},
};

static void work(struct worker *self)
{
    unsigned slots = (unsigned)parameters[SLOTS].value;
    unsigned least = (unsigned)parameters[LEAST].value;
    unsigned range = (unsigned)parameters[MOST].value - least + 1;
    bool ends = parameters[TOUCH].value > 0;
    char **slot = workload_table(slots * sizeof(*slot));
    uint64_t operations = 0;

    for (; worker_goes_on(); operations++) {
        unsigned at = random_below(&self->random, slots);
        unsigned size = least + random_below(&self->random, range);
        free(slot[at]);
        char *block = malloc(size);
        if (!block)
            workload_no_memory();
        block[0] = 1;
        if (ends)
            block[size - 1] = 1;
        slot[at] = block;
    }
    worker_done(self, operations);
    for (unsigned i = 0; i < slots; i++)
        free(slot[i]);
}

int main(int argc, char **argv)
{
    struct measured measured;
    char name[32];
    double seconds = workload_arguments(
        argc, argv, "Frees and allocates in random slots; touches the first byte or both ends.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    unsigned threads = (unsigned)parameters[THREADS].value;

    if (parameters[MOST].value < parameters[LEAST].value) {
        fprintf(stderr, "churn: most is below least\n");
        return 2;
    }
    workload_run(threads, seconds, work, NULL, &measured);
    snprintf(name, sizeof(name), "churn%u", threads);
    print_begin(name, measured_rate(&measured, 1e6), "Mops/s", &measured);
    print_end();
    return 0;
}
