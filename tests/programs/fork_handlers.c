/* SPDX-License-Identifier: MIT */
/* fork_handlers.c - forks from several threads, with fork handlers that allocate, while others are
 * busy with the heap. Ends with 0 when every child could allocate, free and end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int stop, bad;
static _Atomic(void *) kept;

static void allocate(void)
{
    for (size_t n = 1; n < 300000; n = n * 3 + 7) {
        char *p = malloc(n);
        if (!p)
            abort();
        memset(p, 1, n);
        free(p);
    }
    free(atomic_exchange(&kept, malloc(101))); /* two threads may fork at a time */
}

/* Handlers that were there before the library's, whose prepare runs after it and whose others run
 * before it. */
__attribute__((constructor(101))) static void early(void)
{
    pthread_atfork(allocate, allocate, allocate);
}

static void *busy(void *arg)
{
    unsigned x = (unsigned)(size_t)arg * 7919 + 1;
    char *block[64] = {NULL};

    while (!atomic_load(&stop)) {
        x = x * 1664525 + 1013904223;
        unsigned i = x >> 26;
        free(block[i]);
        block[i] = malloc((x >> 8) % (i == 0 ? 200000 : 3000));
    }
    for (int i = 0; i < 64; i++)
        free(block[i]);
    return NULL;
}

static void *forker(void *arg)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        if (child == 0) {
            char *block[100];
            for (int j = 0; j < 100; j++)
                block[j] = malloc((size_t)(j * j * 7 + 1));
            for (int j = 0; j < 100; j++)
                free(block[j]);
            pthread_t thread; /* a child may have threads again */
            atomic_store(&stop, 1);
            if (pthread_create(&thread, NULL, busy, NULL) != 0 || pthread_join(thread, NULL) != 0)
                _exit(3);
            _exit(i % 2 ? 0 : EXIT_SUCCESS);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            atomic_fetch_add(&bad, 1);
    }
    return arg;
}

int main(void)
{
    pthread_t thread[5];

    pthread_atfork(allocate, allocate, allocate);
    for (size_t i = 0; i < 3; i++)
        pthread_create(&thread[i], NULL, busy, (void *)i);
    for (int i = 3; i < 5; i++)
        pthread_create(&thread[i], NULL, forker, NULL);
    pthread_join(thread[3], NULL);
    pthread_join(thread[4], NULL);
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    printf("%d bad\n", atomic_load(&bad));
    return atomic_load(&bad) != 0;
}
