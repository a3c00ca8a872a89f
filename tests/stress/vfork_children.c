/* SPDX-License-Identifier: MIT */
/* vfork_children.c - vfork, posix_spawn, system and popen while threads allocate; vfork children
 * that allocate in their parent's memory. */
#include "stress.h"

#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS = 2 };

extern char **environ;

static void expect_status(pid_t pid, int wanted)
{
    int status = -1;

    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != wanted)
        stress_fail("a child ended otherwise than it should");
}

/* The child borrows this thread's memory and stack: what it allocates stays. Its function is a leaf
 * of its own so that the parent's frame is not changed behind its back. */
static struct stress_block *volatile left_by_child;

__attribute__((noinline)) static pid_t vfork_allocates(struct stress_rng *rng, bool exec)
{
    pid_t pid = vfork();

    if (pid == 0) {
        stress_free(left_by_child);
        left_by_child = stress_alloc(rng);
        if (exec) {
            execl("/bin/false", "false", (char *)NULL);
            _exit(99);
        }
        _exit(23);
    }
    return pid;
}

static void once(struct stress_rng *rng)
{
    static const char *const argv_true[] = {"true", NULL};
    pid_t pid;
    char line[64];

    switch (stress_below(rng, 5)) {
    case 0:
        pid = vfork_allocates(rng, false);
        if (pid < 0)
            stress_fail("vfork");
        expect_status(pid, 23);
        break;
    case 1:
        pid = vfork_allocates(rng, true);
        if (pid < 0)
            stress_fail("vfork");
        expect_status(pid, 1);
        break;
    case 2:
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, (char *const *)argv_true, environ) != 0)
            stress_fail("posix_spawn");
        expect_status(pid, 0);
        break;
    case 3:
        if (WEXITSTATUS(system("exit 7")) != 7)
            stress_fail("system");
        break;
    default: {
        FILE *f = popen("echo 101", "r");
        if (!f || !fgets(line, sizeof(line), f) || strcmp(line, "101\n") != 0 || pclose(f) != 0)
            stress_fail("popen");
    }
    }
}

static void *spawner(void *arg)
{
    struct stress_rng rng = {(uintptr_t)arg};
    struct stress_table table = {{NULL}};
    static const char *const argv_true[] = {"true", NULL};

    while (stress_running()) {
        pid_t pid;
        stress_work(&rng, &table, 53);
        if (posix_spawn(&pid, "/bin/true", NULL, NULL, (char *const *)argv_true, environ) != 0)
            stress_fail("posix_spawn");
        expect_status(pid, 0);
    }
    stress_clear(&table);
    return NULL;
}

int main(int argc, char **argv)
{
    struct stress_rng rng = {11};
    struct stress_table table = {{NULL}};
    pthread_t threads[WORKERS + 1];

    stress_start(argc, argv);
    for (uintptr_t i = 0; i <= WORKERS; i++) {
        if (pthread_create(&threads[i], NULL, i < WORKERS ? stress_worker : spawner,
                           (void *)(i + 1)) != 0)
            stress_fail("pthread_create");
    }
    while (stress_running()) {
        stress_work(&rng, &table, 53);
        once(&rng);
    }
    for (int i = 0; i <= WORKERS; i++)
        pthread_join(threads[i], NULL);
    stress_clear(&table);
    stress_free(left_by_child);
    return 0;
}
