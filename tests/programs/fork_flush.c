/* SPDX-License-Identifier: MIT */
/* fork_flush.c - a fork that must wait in libc for this thread, which goes on allocating: flusher
 * has libc's list of FILEs and waits for file; forker is in fork() and waits for the list. Prints
 * what the allocations and the child gave. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *flusher(void *arg)
{
    fflush(NULL);
    return arg;
}

static void *forker(void *arg)
{
    int status = 0;
    pid_t child = fork();

    (void)arg;
    if (child == 0)
        _exit(23);
    waitpid(child, &status, 0);
    return (void *)(size_t)WEXITSTATUS(status);
}

static void *first_block(void *arg)
{
    (void)arg;
    return malloc(101);
}

static size_t allocate(void)
{
    size_t bad = 0;

    for (int i = 0; i < 20000; i++) {
        size_t size = (size_t)(i % 500 ? 1 + i % 9001 : i * 101);
        char *p = malloc(size);
        if (p)
            memset(p, 1, size);
        else
            bad++;
        if (i % 3)
            free(p);
    }
    return bad;
}

int main(void)
{
    pthread_t flushes, forks, starts;
    void *child, *block = NULL;
    FILE *file = tmpfile();

    if (!file)
        return 2;
    flockfile(file);
    pthread_create(&flushes, NULL, flusher, NULL);
    usleep(100000);
    pthread_create(&forks, NULL, forker, NULL);
    usleep(100000);
    size_t bad = allocate();
    if (pthread_create(&starts, NULL, first_block, NULL) == 0)
        pthread_join(starts, &block);
    funlockfile(file);
    pthread_join(forks, &child);
    pthread_join(flushes, NULL);
    printf("%zu without memory, %s, child %zu\n", bad, block ? "block" : "none", (size_t)child);
    return 0;
}
