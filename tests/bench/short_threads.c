/* SPDX-License-Identifier: MIT */
/* short_threads.c - thousands of threads that allocate a little, free it and end, four at a time.
 */
#include <pthread.h>
#include <stdlib.h>

#include "workload.h"

#define ALIVE  4
#define BLOCKS 100

static struct parameter parameters[] = {
    {"most", 1e9, 1, 1e9, NULL},
};

/* Every second block is the next thread's to free, as with a result that is handed back. */
struct task {
    pthread_t thread;
    uint64_t random;
    char *left[BLOCKS / 2];
};

static void *run_task(void *argument)
{
    struct task *task = argument;
    char *block[BLOCKS];

    for (unsigned i = 0; i < BLOCKS / 2; i++)
        free(task->left[i]);
    for (unsigned i = 0; i < BLOCKS; i++) {
        block[i] = malloc(16 + random_below(&task->random, 1000));
        if (!block[i])
            workload_no_memory();
        block[i][0] = 1;
    }
    for (unsigned i = 0; i < BLOCKS / 2; i++) {
        free(block[2 * i]);
        task->left[i] = block[2 * i + 1];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct measured measured;
    struct task *task = workload_table(ALIVE * sizeof(*task));
    uint64_t started = 0;
    double seconds = workload_arguments(
        argc, argv, "Threads that make 100 blocks, free half, leave half to the next and end.",
        parameters, 1);
    uint64_t end_ns = clock_ns() + (uint64_t)(seconds * 1e9);

    measure_begin(&measured);
    while (clock_ns() < end_ns && started < (uint64_t)parameters[0].value) {
        for (unsigned i = 0; i < ALIVE; i++) {
            task[i].random = started++;
            if (pthread_create(&task[i].thread, NULL, run_task, &task[i]) != 0)
                workload_no_memory();
        }
        for (unsigned i = 0; i < ALIVE; i++)
            pthread_join(task[i].thread, NULL);
    }
    measure_end(&measured, started);
    print_begin("threads", (double)started / measured.seconds / 1e3, "kthreads/s", &measured);
    print_end();
    return 0;
}
