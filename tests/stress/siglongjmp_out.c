/* SPDX-License-Identifier: MIT */
/* siglongjmp_out.c - handlers that leave an interrupted malloc or free by siglongjmp, for good.
 *
 * What the interrupted call was about is lost or not, nobody can know: it is forgotten before each
 * call. Everything else must keep its content, and nobody may wait for the one who left. */
#include "stress.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { JUMPERS = 2, WORKERS = 1, TABLE = 101 };

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;
static __thread volatile uint64_t turn;
static _Atomic uint64_t jumps;

static void handler(int signo)
{
    (void)signo;
    if (!may_jump)
        return;
    if (++turn % 3 == 0) {
        struct stress_rng rng = {turn};
        may_jump = 0;
        stress_free(stress_alloc_max(&rng, 5000));
        may_jump = 1;
    }
    if (turn % 2) {
        may_jump = 0;
        atomic_fetch_add(&jumps, 1);
        siglongjmp(back, 1);
    }
}

/* Allocates one block, or frees one; jumps may hit it. The block is in the table only while no call
 * is about it. */
static void step(struct stress_rng *rng, struct stress_block *volatile *table)
{
    size_t at = stress_below(rng, TABLE), size = 24 + stress_below(rng, 4000);
    if (stress_below(rng, 64) == 0)
        size *= 101;
    struct stress_block *old = table[at];

    if (old) {
        stress_check(old);
        table[at] = NULL;
        may_jump = 1;
        free(old);
        may_jump = 0;
    }
    may_jump = 1;
    struct stress_block *now = malloc(size);
    may_jump = 0;
    if (!now)
        return;
    /* Filled by the rules of stress_check(), before it can be seen. */
    now->size = size;
    now->key = stress_random(rng);
    uint64_t *words = (uint64_t *)(now + 1);
    size_t n = (size - sizeof(*now)) / 8;
    for (size_t i = 0; i < n; i++)
        words[i] = now->key ^ (i * 0x9e3779b97f4a7c15u);
    memset((char *)now + sizeof(*now) + n * 8, (int)(unsigned char)now->key,
           (size - sizeof(*now)) % 8);
    table[at] = now;
}

static void *jumper(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    struct stress_block *volatile table[TABLE] = {NULL};

    while (stress_running()) {
        if (sigsetjmp(back, 1) == 0) {
            for (int i = 0; i < 101; i++)
                step(&rng, table);
        }
    }
    may_jump = 0;
    for (int i = 0; i < TABLE; i++)
        stress_free(table[i]);
    return NULL;
}

static void *worker(void *arg)
{
    sigset_t set;

    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return stress_worker(arg);
}

int main(int argc, char **argv)
{
    pthread_t threads[JUMPERS + WORKERS];
    struct sigaction action;
    struct timespec pause = {0, 100000};

    stress_start(argc, argv);
    memset(&action, 0, sizeof(action));
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    for (uintptr_t i = 0; i < JUMPERS + WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, i < JUMPERS ? jumper : worker, (void *)(i + 1)) != 0)
            stress_fail("pthread_create");
    }
    for (unsigned i = 0; stress_running(); i++) {
        pthread_kill(threads[i % JUMPERS], SIGUSR1);
        nanosleep(&pause, NULL);
    }
    for (int i = 0; i < JUMPERS + WORKERS; i++)
        pthread_join(threads[i], NULL);
    if (jumps == 0)
        stress_fail("nobody jumped");
    return 0;
}
