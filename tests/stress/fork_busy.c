/* SPDX-License-Identifier: MIT */
/* fork_busy.c - forks from the main thread and from another while all threads allocate. */
#include "stress.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 3 };

static struct stress_table shared_by_fork; /* the forking thread's; the child inherits it */

static void *child_thread(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    struct stress_table table = {{NULL}};

    stress_work(&rng, &table, 211);
    stress_clear(&table);
    return NULL;
}

/* What a child does: checks what it inherited, frees some, allocates, starts a thread, forks. */
static void child(struct stress_rng *rng, struct stress_table *table, int depth)
{
    stress_work(rng, table, 307);
    if (stress_below(rng, 3) == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, child_thread, (void *)(uintptr_t)stress_random(rng)) == 0)
            pthread_join(thread, NULL);
    }
    if (depth == 0 && stress_below(rng, 4) == 0) {
        pid_t pid = fork();
        int status = -1;
        if (pid == 0) {
            child(rng, table, 1);
            _exit(0);
        }
        if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0))
            stress_fail("a grandchild failed");
    }
}

static void fork_once(struct stress_rng *rng, struct stress_table *table)
{
    pid_t pid = fork();
    int status = -1;

    if (pid < 0)
        stress_fail("fork");
    if (pid == 0) {
        child(rng, table, 0);
        switch (stress_below(rng, 3)) {
        case 0:
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        case 1:
            stress_clear(table);
            exit(0);
        default:
            _exit(0);
        }
    }
    stress_work(rng, table, 53);
    if (waitpid(pid, &status, 0) != pid || status != 0)
        stress_fail("a child failed");
}

static void *forker(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    struct stress_table table = {{NULL}};

    while (stress_running()) {
        stress_work(&rng, &table, 53);
        fork_once(&rng, &table);
    }
    stress_clear(&table);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress_rng rng = {7};
    pthread_t threads[WORKERS + 1];

    stress_start(argc, argv);
    for (uintptr_t i = 0; i <= WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, i < WORKERS ? stress_worker : forker,
                           (void *)(i + 1)) != 0)
            stress_fail("pthread_create");
    }
    while (stress_running()) {
        stress_work(&rng, &shared_by_fork, 101);
        fork_once(&rng, &shared_by_fork);
    }
    for (int i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
    stress_clear(&shared_by_fork);
    return 0;
}
