/* SPDX-License-Identifier: MIT */
/* dump_while_allocating.c - dumps on demand, from two threads, while others allocate and end. */
#include "stress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { WORKERS = 3, SLOTS = 256 };

static _Atomic(struct stress_block *) slots[SLOTS];

static void *worker(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    struct stress_table table = {{NULL}};

    for (int i = 0; i < 400 && stress_running(); i++) {
        stress_work(&rng, &table, 101);
        stress_free(atomic_exchange(&slots[stress_below(&rng, SLOTS)], stress_alloc(&rng)));
    }
    stress_clear(&table);
    return NULL;
}

static void *dumper(void *arg)
{
    struct timespec pause = {0, 20000000};

    while (stress_running()) {
        stress_dump(arg);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char one[] = "one", two[] = "two";
    pthread_t workers[WORKERS], dumpers[2];
    uintptr_t seed = 1;

    stress_start(argc, argv);
    if (pthread_create(&dumpers[0], NULL, dumper, one) != 0 ||
        pthread_create(&dumpers[1], NULL, dumper, two) != 0)
        stress_fail("pthread_create");
    while (stress_running()) {
        for (int i = 0; i < WORKERS; i++) {
            if (pthread_create(&workers[i], NULL, worker, (void *)seed++) != 0)
                stress_fail("pthread_create");
        }
        for (int i = 0; i < WORKERS; i++)
            pthread_join(workers[i], NULL);
    }
    pthread_join(dumpers[0], NULL);
    pthread_join(dumpers[1], NULL);
    for (int i = 0; i < SLOTS; i++)
        stress_free(slots[i]);
    return 0;
}
