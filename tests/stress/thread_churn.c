/* SPDX-License-Identifier: MIT */
/* thread_churn.c - threads start and end while others free what they allocated. */
#include "stress.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS = 512, ALIVE = 6 };

static _Atomic(struct stress_block *) slots[SLOTS];
static pthread_key_t key;

/* Frees and allocates while the thread's own structures are being taken down. */
static void at_thread_end(void *value)
{
    struct stress_rng rng = {(uintptr_t)value};
    stress_free(value);
    struct stress_block *late = stress_alloc_max(&rng, 4000);
    stress_free(atomic_exchange(&slots[stress_below(&rng, SLOTS)], late));
}

static void *short_life(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    size_t steps = 20 + stress_below(&rng, 800);

    pthread_setspecific(key, stress_alloc_max(&rng, 1000));
    for (size_t i = 0; i < steps; i++) {
        struct stress_block *mine = stress_below(&rng, 16) ? stress_alloc(&rng) : NULL;
        stress_free(atomic_exchange(&slots[stress_below(&rng, SLOTS)], mine));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[ALIVE];
    uintptr_t seed = 1;

    stress_start(argc, argv);
    pthread_key_create(&key, at_thread_end);
    for (int i = 0; i < ALIVE; i++) {
        if (pthread_create(&threads[i], NULL, short_life, (void *)seed++) != 0)
            stress_fail("pthread_create");
    }
    for (int next = 0; stress_running(); next = (next + 1) % ALIVE) {
        pthread_join(threads[next], NULL);
        /* Sometimes a burst, so that many heaps rest at once. */
        if (seed % 101 == 0) {
            pthread_t burst[23];
            for (int i = 0; i < 23; i++) {
                if (pthread_create(&burst[i], NULL, short_life, (void *)seed++) != 0)
                    stress_fail("pthread_create");
            }
            for (int i = 0; i < 23; i++)
                pthread_join(burst[i], NULL);
        }
        if (pthread_create(&threads[next], NULL, short_life, (void *)seed++) != 0)
            stress_fail("pthread_create");
    }
    for (int i = 0; i < ALIVE; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        stress_free(atomic_exchange(&slots[i], NULL));
    return 0;
}
