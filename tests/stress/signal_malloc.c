/* SPDX-License-Identifier: MIT */
/* signal_malloc.c - signal handlers that allocate, over threads that are just allocating. */
#include "stress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 3, SLOTS = 64 };

static _Atomic(struct stress_block *) slots[SLOTS];
static _Atomic uint64_t turn, handled;

/* Handlers over handlers, but not without end: the stack is finite. */
static __thread volatile sig_atomic_t depth;

static void handler(int signo)
{
    int before = errno;
    struct stress_rng rng = {atomic_fetch_add(&turn, 1) * 2 + 1};

    (void)signo;
    if (depth >= 4)
        return;
    depth++;
    errno = 77;
    for (int i = 0; i < 3; i++) {
        struct stress_block *mine = stress_alloc_max(&rng, 40000);
        if (mine && errno != 77)
            stress_fail("an allocation in a handler changed errno");
        errno = 77;
        stress_free(atomic_exchange(&slots[stress_below(&rng, SLOTS)], mine));
    }
    atomic_fetch_add(&handled, 1);
    depth--;
    errno = before;
}

int main(int argc, char **argv)
{
    pthread_t threads[WORKERS];
    struct sigaction action;
    struct timespec pause = {0, 50000};

    stress_start(argc, argv);
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART | SA_NODEFER; /* a handler over a handler, too */
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    for (uintptr_t i = 0; i < WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, stress_worker, (void *)(i + 1)) != 0)
            stress_fail("pthread_create");
    }
    /* Not from this thread's own work: signals fall on any instruction of the others. */
    for (unsigned i = 0; stress_running(); i++) {
        /* No more in flight than can be handled: the stack of a handler over a handler is finite.
         */
        pthread_kill(threads[i % WORKERS], i % 3 ? SIGUSR1 : SIGUSR2);
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < SLOTS; i++)
        stress_free(slots[i]);
    if (handled == 0)
        stress_fail("no signal was handled");
    return 0;
}
