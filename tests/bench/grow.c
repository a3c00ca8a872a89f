/* SPDX-License-Identifier: MIT */
/* grow.c - realloc makes a block large in steps, every page of it written, small blocks beside it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "workload.h"

enum { STEPS, MIB };
enum { EVEN, DOUBLING };

static struct parameter parameters[] = {
    [STEPS] = {"steps", EVEN, 0, 0, "even|doubling"},
    [MIB] = {"mib", 256, 1, 65536, NULL},
};

static size_t next_size(size_t size)
{
    return parameters[STEPS].value == EVEN ? size + 1048576 : size + size / 2 + 64;
}

int main(int argc, char **argv)
{
    struct measured measured;
    char name[32];
    int length;
    uint64_t grown = 0;
    double seconds = workload_arguments(
        argc, argv, "Grows a block by 1 MiB (or by half) with realloc up to its size; again.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    size_t most = (size_t)(parameters[MIB].value * 1048576);
    uint64_t end_ns = clock_ns() + (uint64_t)(seconds * 1e9);

    measure_begin(&measured);
    do {
        char *block = NULL, *beside[64] = {NULL};
        unsigned step = 0;
        for (size_t size = 0, next; size < most; size = next, step++) {
            next = next_size(size);
            block = realloc(block, next);
            if (!block)
                workload_no_memory();
            for (size_t at = size; at < next; at += 4096)
                block[at] = 1;
            block[next - 1] = 1;
            /* What else a program allocates between two steps. */
            free(beside[step % 64]);
            beside[step % 64] = malloc(200);
        }
        free(block);
        for (unsigned i = 0; i < 64; i++)
            free(beside[i]);
        grown++;
    } while (clock_ns() < end_ns);
    measure_end(&measured, grown);
    const char *steps = workload_word(&parameters[STEPS], &length);
    snprintf(name, sizeof(name), "grow-%.*s", length, steps);
    print_begin(name, measured.seconds / (double)grown * 1e3, "ms", &measured);
    print_end();
    return 0;
}
