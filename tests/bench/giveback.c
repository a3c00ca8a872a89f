/* SPDX-License-Identifier: MIT */
/* giveback.c - how much memory a process still holds after it freed nearly all: at once, later.
 *
 * main      a million blocks of 128 bytes, allocated and freed by the main thread, then light work
 * threads   the same by eight threads that free what they allocated and end
 * idle      as main, but then nothing is called: the process sleeps
 * producer  a thread fills 1 GiB with blocks of 64 to 2047 bytes and sleeps, four others free them
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

enum { HOW, BLOCKS, MIB };
enum { MAIN, THREADS, IDLE, PRODUCER };

#define ENDING_THREADS  8
#define FREEING_THREADS 4

static struct parameter parameters[] = {
    [HOW] = {"how", MAIN, 0, 0, "main|threads|idle|producer"},
    [BLOCKS] = {"blocks", 1000000, 8, 1e8, NULL},
    [MIB] = {"mib", 1024, 1, 65536, NULL},
};

static struct {
    char **block; /* not the allocator's memory */
    size_t count;
    sem_t filled, freed, never;
    double fill_seconds, free_seconds;
    size_t full_bytes;
} all;

static char *allocate(size_t size)
{
    char *block = malloc(size);
    if (!block)
        workload_no_memory();
    memset(block, 1, size);
    return block;
}

static void fill_and_free(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        all.block[i] = allocate(128);
    size_t full = rss_bytes();
    if (full > all.full_bytes)
        all.full_bytes = full;
    for (size_t i = from; i < to; i++)
        free(all.block[i]);
}

static void *ending_thread(void *argument)
{
    size_t index = (size_t)argument;
    fill_and_free(all.count / ENDING_THREADS * index, all.count / ENDING_THREADS * (index + 1));
    return NULL;
}

static void by_threads(void)
{
    pthread_t thread[ENDING_THREADS];

    for (size_t i = 0; i < ENDING_THREADS; i++) {
        if (pthread_create(&thread[i], NULL, ending_thread, (void *)i) != 0)
            workload_no_memory();
    }
    for (size_t i = 0; i < ENDING_THREADS; i++)
        pthread_join(thread[i], NULL);
}

static void *producing_thread(void *argument)
{
    uint64_t random = 71;
    size_t bytes = (size_t)(parameters[MIB].value * 1048576), held = 0;

    (void)argument;
    for (; held < bytes; all.count++) {
        size_t size = 64 + random_below(&random, 1984);
        all.block[all.count] = allocate(size);
        held += size;
    }
    sem_post(&all.filled);
    while (sem_wait(&all.never) != 0)
        ;
    return NULL;
}

static void *freeing_thread(void *argument)
{
    for (size_t i = (size_t)argument; i < all.count; i += FREEING_THREADS)
        free(all.block[i]);
    sem_post(&all.freed);
    while (sem_wait(&all.never) != 0)
        ;
    return NULL;
}

static void by_producer(void)
{
    pthread_t thread;
    uint64_t start_ns = clock_ns();

    if (pthread_create(&thread, NULL, producing_thread, NULL) != 0)
        workload_no_memory();
    while (sem_wait(&all.filled) != 0)
        ;
    all.fill_seconds = (double)(clock_ns() - start_ns) / 1e9;
    all.full_bytes = rss_bytes();
    start_ns = clock_ns();
    for (size_t i = 0; i < FREEING_THREADS; i++) {
        if (pthread_create(&thread, NULL, freeing_thread, (void *)i) != 0)
            workload_no_memory();
    }
    for (size_t i = 0; i < FREEING_THREADS; i++) {
        while (sem_wait(&all.freed) != 0)
            ;
    }
    all.free_seconds = (double)(clock_ns() - start_ns) / 1e9;
}

static void wait_some(double seconds)
{
    if (parameters[HOW].value == IDLE)
        sleep_ns((uint64_t)(seconds * 1e9));
    else
        light_work(seconds);
}

static double mib_above(size_t bytes, size_t start)
{
    return ((double)bytes - (double)start) / 1048576;
}

int main(int argc, char **argv)
{
    struct measured measured;
    char name[32];
    int length;
    double seconds = workload_arguments(
        argc, argv,
        "RSS above that of the start after all is freed: at once, 1 s later, SECONDS later.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    bool producer = parameters[HOW].value == PRODUCER;
    double first = seconds < 1 ? seconds : 1;

    all.count = producer ? 0 : (size_t)parameters[BLOCKS].value;
    all.block = workload_table(
        sizeof(*all.block) * (producer ? (size_t)(parameters[MIB].value * 16384) + 1 : all.count));
    sem_init(&all.filled, 0, 0);
    sem_init(&all.freed, 0, 0);
    sem_init(&all.never, 0, 0);

    size_t start = rss_bytes();
    measure_begin(&measured);
    if (producer)
        by_producer();
    else if (parameters[HOW].value == THREADS)
        by_threads();
    else
        fill_and_free(0, all.count);
    measure_end(&measured, all.count);
    size_t freed = rss_bytes();
    wait_some(first);
    size_t soon = rss_bytes();
    wait_some(seconds - first);
    size_t late = rss_bytes();

    const char *how = workload_word(&parameters[HOW], &length);
    snprintf(name, sizeof(name), "giveback-%.*s", length, how);
    print_begin(name, mib_above(soon, start), "MiB", &measured);
    print_key("start_mib", (double)start / 1048576);
    print_key("full_mib", mib_above(all.full_bytes, start));
    print_key("freed_mib", mib_above(freed, start));
    print_key("soon_mib", mib_above(soon, start));
    print_key("late_mib", mib_above(late, start));
    if (producer) {
        print_key("fill_s", all.fill_seconds);
        print_key("free_s", all.free_seconds);
    }
    print_end();
    return 0;
}
