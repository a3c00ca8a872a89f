/* SPDX-License-Identifier: MIT */
/* count_me.c - does what the allocator must count or may be told; the first argument says what. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
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

enum { COUNT = 491, SIZE = 100003 }; /* 47 MiB */

static void fill_and_free(void)
{
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = malloc(SIZE);
        memset(blocks[i], 1, SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        free(blocks[i]);
}

static void purge(void)
{
    fill_and_free();
    malloc_trim(0);
}

static pthread_barrier_t all_full;

/* Frees a good many blocks of each size from 1 to 32 KiB, and lives on. */
static void *fill_caches(void *arg)
{
    for (size_t size = 1101; size < 32768; size = size * 5 / 4) {
        void *kept[41];
        for (int turn = 0; turn < 23; turn++) {
            for (int i = 0; i < 41; i++)
                kept[i] = memset(malloc(size), 1, 1);
            for (int i = 0; i < 41; i++)
                free(kept[i]);
        }
    }
    pthread_barrier_wait(&all_full);
    pause();
    return arg;
}

static void caches(void)
{
    enum { FULL = 8 };
    pthread_t thread;

    pthread_barrier_init(&all_full, NULL, FULL + 1);
    for (int i = 0; i < FULL; i++) {
        if (pthread_create(&thread, NULL, fill_caches, NULL) != 0)
            abort();
    }
    pthread_barrier_wait(&all_full);
}

/* A block of the middle sizes again and again. */
static void medium(void)
{
    for (int i = 0; i < BLOCKS; i++)
        free(memset(malloc(7001), 1, 1));
}

/* Frees it, and then works a little for half a second. */
static void churn(void)
{
    fill_and_free();
    for (int i = 0; i < 50; i++) {
        usleep(10000);
        for (int j = 0; j < 101; j++)
            free(memset(malloc(SIZE), 1, 1));
    }
}

/* How many MiB there are. */
static void fill_up(void)
{
    int count = 0;

    errno = 0;
    while (count < 100 && (blocks[count] = malloc((1 << 20) - 4096)) != NULL)
        count++;
    printf("%d%s\n", count, errno == ENOMEM ? " ENOMEM" : "");
    for (int i = 0; i < count; i++)
        free(blocks[i]);
}

/* What the kernel was told about huge pages where a block lies: hg, nh or nothing. */
static void thp(void)
{
    uintptr_t block = (uintptr_t)malloc(101), low, high;
    char line[4096];
    bool inside = false;
    FILE *maps = fopen("/proc/self/smaps", "r");

    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx ", &low, &high) == 2)
            inside = low <= block && block < high;
        if (inside && strncmp(line, "VmFlags:", 8) == 0)
            puts(strstr(line, " hg") ? "hg" : strstr(line, " nh") ? "nh" : "neither");
    }
}

static long resident_pages(void)
{
    char text[128];
    long pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY);
    ssize_t size = read(fd, text, sizeof(text) - 1);

    close(fd);
    text[size > 0 ? size : 0] = 0;
    for (const char *at = strchr(text, ' ') + 1; *at >= '0' && *at <= '9'; at++)
        pages = pages * 10 + (*at - '0');
    return pages;
}

/* Frees and sleeps: does the memory go? No call of malloc or free while it waits. */
static void idle(void)
{
    long start = resident_pages();

    fill_and_free();
    for (int i = 0; i < 100; i++) {
        if (resident_pages() < start + 2048) {
            puts("gone");
            return;
        }
        usleep(i < 20 ? 50000 : 100000);
        if (i == 20 && getenv("IMPATIENT"))
            break;
    }
    puts("kept");
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
    } acts[] = {{"remote", remote}, {"adopt", adopt},   {"purge", purge},  {"idle", idle},
                {"caches", caches}, {"medium", medium}, {"churn", churn},  {"fill-up", fill_up},
                {"thp", thp},       {"sizes", sizes},   {"forked", forked}};

    for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
        if (argc > 1 && strcmp(argv[1], acts[i].name) == 0)
            acts[i].act();
    }
    return 0;
}
