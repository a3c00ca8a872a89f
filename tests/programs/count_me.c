/* SPDX-License-Identifier: MIT */
/* count_me.c - does what a counter of the allocator must notice; the first argument says what. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS  2003
#define THREADS 23

static void *blocks[BLOCKS];

static void *run(void *(*function)(void *))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, function, NULL) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    return NULL;
}

static void *fill(void *arg)
{
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = malloc(101);
        memset(blocks[i], 1, 101);
    }
    return arg;
}

static void *drain(void *arg)
{
    for (int i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return arg;
}

/* Each thread's blocks are freed by the next one; neither is the one that made them. */
static void remote(void)
{
    run(fill);
    fill(NULL);
    run(drain);
}

static void *small_life(void *arg)
{
    void *p = malloc(101), *q = malloc(7001);

    memset(p, 1, 101);
    free(p);
    free(q);
    return arg;
}

static void adopt(void)
{
    for (int i = 0; i < THREADS; i++)
        run(small_life);
}

/* 47 MiB in blocks of 100,003 bytes. */
static void purge(void)
{
    enum { COUNT = 491, SIZE = 100003 };

    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(SIZE);
        memset(blocks[i], 1, SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
    malloc_trim(0);
}

/* One block of each kind, for the reasons of slow paths. */
static void sizes(void)
{
    static const size_t size[] = {101, 7001, 100003, 23000017};

    for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++)
        free(memset(malloc(size[i]), 1, 1));
    free(aligned_alloc(4096, 4096));
}

static void forked(void)
{
    pid_t child = fork();

    if (child == 0) {
        small_life(NULL);
        exit(0);
    }
    printf("%d\n", (int)child);
    fflush(stdout);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*act)(void);
    } acts[] = {{"remote", remote},
                {"adopt", adopt},
                {"purge", purge},
                {"sizes", sizes},
                {"forked", forked}};

    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        if (argc > 1 && strcmp(argv[1], acts[i].name) == 0)
            acts[i].act();
    }
    return 0;
}
