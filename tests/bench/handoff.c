/* SPDX-License-Identifier: MIT */
/* handoff.c - pairs of threads: one allocates and fills blocks, the other reads and frees them. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "workload.h"

enum { PAIRS, SIZES };

#define RING 4096u
/* Blocks are shown to the other side in groups: the ring itself should not be what is measured. */
#define GROUP 32u

static struct parameter parameters[] = {
    [PAIRS] = {"pairs", 1, 1, 64, NULL},
    [SIZES] = {"sizes", 0, 0, 0, "64|mixed"},
};

struct ring {
    uint32_t made __attribute__((aligned(128)));  /* by the producer, release; with acquire below */
    uint32_t taken __attribute__((aligned(128))); /* by the consumer, release; acquire there */
    char *slot[RING] __attribute__((aligned(128)));
};

static void produce(struct worker *self, struct ring *ring)
{
    bool mixed = parameters[SIZES].value > 0;
    uint32_t made = 0;
    uint64_t operations = 0;

    while (worker_goes_on()) {
        if (made + GROUP - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) > RING) {
            sched_yield();
            continue;
        }
        for (unsigned i = 0; i < GROUP; i++, made++) {
            /* Most are small and a few are large, as messages are. */
            size_t size = 64;
            if (mixed) {
                uint32_t random = random_next(&self->random);
                size = random % 16 ? 16 + (random >> 8) % 1008 : 1024 + (random >> 8) % 15360;
            }
            char *block = malloc(size);
            if (!block)
                workload_no_memory();
            block[0] = 1;
            block[size - 1] = 1;
            ring->slot[made % RING] = block;
        }
        __atomic_store_n(&ring->made, made, __ATOMIC_RELEASE);
        operations += GROUP;
    }
    worker_done(self, operations);
}

static void consume(struct worker *self, struct ring *ring)
{
    uint32_t taken = 0;
    unsigned sum = 0;

    for (;;) {
        bool last = !worker_goes_on();
        uint32_t made = __atomic_load_n(&ring->made, __ATOMIC_ACQUIRE);
        if (made == taken) {
            /* The producer stops at a group's end; what it makes after this is left unfreed. */
            if (last)
                break;
            sched_yield();
            continue;
        }
        while (taken != made) {
            char *block = ring->slot[taken++ % RING];
            sum += (unsigned)block[0];
            free(block);
        }
        __atomic_store_n(&ring->taken, taken, __ATOMIC_RELEASE);
    }
    worker_done(self, 0);
    if (sum == 1)
        abort(); /* the blocks are read */
}

/* The two of a pair on two cores: else the scheduler decides in each run anew whether a block
 * changes the core with its owner, which matters more than the allocator. */
static void stay_on_a_core(unsigned index)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((index / 2 + index % 2) % (unsigned)(cores > 0 ? cores : 1), &set);
    /* Where it is not allowed it is measured as it comes. */
    (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static void work(struct worker *self)
{
    stay_on_a_core(self->index);
    struct ring *ring = (struct ring *)self->shared + self->index / 2;

    if (self->index % 2 == 0)
        produce(self, ring);
    else
        consume(self, ring);
}

int main(int argc, char **argv)
{
    struct measured measured;
    char name[32];
    int length;
    double seconds = workload_arguments(
        argc, argv, "Blocks made by one thread and freed by another, through a ring of 4096.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    unsigned pairs = (unsigned)parameters[PAIRS].value;

    workload_run(pairs * 2, seconds, work, workload_table(pairs * sizeof(struct ring)), &measured);
    const char *sizes = workload_word(&parameters[SIZES], &length);
    snprintf(name, sizeof(name), "handoff%u-%.*s", pairs * 2, length, sizes);
    print_begin(name, measured_rate(&measured, 1e6), "Mops/s", &measured);
    print_end();
    return 0;
}
