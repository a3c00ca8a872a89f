/* SPDX-License-Identifier: MIT */
/* clear.c - calloc: small blocks that are used again and again, or large ones of which a part is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

enum { SIZES, CHECK };
enum { SMALL, LARGE };

#define SLOTS_MOST 128u

static struct parameter parameters[] = {
    [SIZES] = {"sizes", SMALL, 0, 0, "small|large"},
    [CHECK] = {"check", 0, 0, 0, "no|yes"},
};

static void check_zero(const char *block, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (block[i]) {
            fprintf(stderr, "clear: calloc gave a block that is not zero\n");
            abort();
        }
    }
}

static void work(struct worker *self)
{
    bool large = parameters[SIZES].value == LARGE, check = parameters[CHECK].value > 0;
    unsigned slots = large ? 8 : SLOTS_MOST;
    unsigned least = large ? 65536 : 16, range = large ? 983041 : 1009;
    char *slot[SLOTS_MOST] = {NULL};
    uint64_t operations = 0;

    for (; worker_goes_on(); operations++) {
        unsigned at = random_below(&self->random, slots);
        size_t size = least + random_below(&self->random, range);
        free(slot[at]);
        char *block = calloc(1, size);
        if (!block)
            workload_no_memory();
        if (check)
            check_zero(block, size);
        block[0] = 1;
        block[size - 1] = 1;
        /* Of a large table every fourth page comes into use. */
        for (size_t i = 16384; large && i < size; i += 16384)
            block[i] = 1;
        slot[at] = block;
    }
    worker_done(self, operations);
    for (unsigned i = 0; i < slots; i++)
        free(slot[i]);
}

int main(int argc, char **argv)
{
    struct measured measured;
    double seconds = workload_arguments(
        argc, argv, "calloc of 16 to 1024 bytes, or of 64 KiB to 1 MiB, in random slots.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    bool large = parameters[SIZES].value == LARGE;

    workload_run(1, seconds, work, NULL, &measured);
    if (large)
        print_begin("calloc-large", measured_rate(&measured, 1e3), "kops/s", &measured);
    else
        print_begin("calloc-small", measured_rate(&measured, 1e6), "Mops/s", &measured);
    print_end();
    return 0;
}
