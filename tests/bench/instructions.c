/* SPDX-License-Identifier: MIT */
/* instructions.c - how many instructions one malloc, free, calloc or realloc executes, exactly.
 *
 * Usage: instructions [LIBRARY]
 * Starts itself again with LIBRARY preloaded and steps through the calls of that process one
 * instruction at a time. Counted is what runs outside the program itself: the allocator, and what
 * it calls. Each call is warmed up and then stepped through 64 times; printed are the least, the
 * median, the mean and the most. A second thread is alive, as in every server. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMES 64
#define INT3  0xccu

/* ---- the process that is stepped through ---- */

static struct {
    sem_t go, done;
    void *given[TIMES]; /* blocks of the other thread */
} remote;

/* The tracer counts from one of these to the next. */
#define MARK() __asm__ volatile("int3" ::: "memory")

static void *remote_thread(void *argument)
{
    (void)argument;
    for (;;) {
        while (sem_wait(&remote.go) != 0)
            ;
        for (int i = 0; i < TIMES; i++)
            remote.given[i] = malloc(64);
        sem_post(&remote.done);
    }
    return NULL;
}

static void ask_remote(void)
{
    sem_post(&remote.go);
    while (sem_wait(&remote.done) != 0)
        ;
}

static void *volatile sink;

static void step_malloc(size_t size)
{
    void *block[TIMES];

    for (int warm = 0; warm < 3; warm++) {
        for (int i = 0; i < TIMES; i++)
            block[i] = malloc(size);
        for (int i = 0; i < TIMES; i++)
            free(block[i]);
    }
    for (int i = 0; i < TIMES; i++) {
        MARK();
        block[i] = malloc(size);
        MARK();
    }
    for (int i = 0; i < TIMES; i++)
        free(block[i]);
}

static void step_free(size_t size)
{
    void *block[TIMES];

    for (int i = 0; i < TIMES; i++)
        block[i] = malloc(size);
    for (int i = 0; i < TIMES; i++) {
        MARK();
        free(block[i]);
        MARK();
    }
}

/* At once, as most programs do it: what was just freed is taken again. */
static void step_pair(size_t size, bool count_free)
{
    for (int i = 0; i < TIMES; i++) {
        void *block;
        if (!count_free)
            MARK();
        block = malloc(size);
        if (!count_free)
            MARK();
        sink = block;
        if (count_free)
            MARK();
        free(block);
        if (count_free)
            MARK();
    }
}

static void step_remote_free(void)
{
    for (int warm = 0; warm < 3; warm++) {
        ask_remote();
        for (int i = 0; i < TIMES; i++)
            free(remote.given[i]);
    }
    ask_remote();
    for (int i = 0; i < TIMES; i++) {
        MARK();
        free(remote.given[i]);
        MARK();
    }
}

static void step_calloc(void)
{
    void *block[TIMES];

    for (int i = 0; i < TIMES; i++) {
        MARK();
        block[i] = calloc(1, 64);
        MARK();
    }
    for (int i = 0; i < TIMES; i++)
        free(block[i]);
}

static void step_realloc(void)
{
    void *block = malloc(64);

    for (int i = 0; i < TIMES; i++) {
        MARK();
        block = realloc(block, 60 + (size_t)(i % 4));
        MARK();
    }
    free(block);
}

/* In the order they are run. */
static const char *const calls[] = {
    "malloc(64)",
    "free(64)",
    "malloc(64), just freed",
    "free(64), just taken",
    "free(64), remote",
    "calloc(1, 64)",
    "realloc to 60..63 of 64",
    "malloc(4000)",
    "free(4000)",
    "malloc(4000), just freed",
    "free(4000), just taken",
    "malloc(20000)",
    "free(20000)",
    "malloc(20000), just freed",
    "free(20000), just taken",
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static int be_stepped_through(void)
{
    pthread_t thread;
    static const size_t larger[] = {4000, 20000};

    sem_init(&remote.go, 0, 0);
    sem_init(&remote.done, 0, 0);
    if (pthread_create(&thread, NULL, remote_thread, NULL) != 0)
        return 1;
    ask_remote();
    for (int i = 0; i < TIMES; i++)
        free(remote.given[i]);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    step_malloc(64);
    step_free(64);
    step_pair(64, false);
    step_pair(64, true);
    step_remote_free();
    step_calloc();
    step_realloc();
    for (int i = 0; i < 2; i++) {
        step_malloc(larger[i]);
        step_free(larger[i]);
        step_pair(larger[i], false);
        step_pair(larger[i], true);
    }
    return 0;
}

/* ---- the one that counts ---- */

struct text_range {
    uint64_t from, to;
};

/* The executable part of the program itself in the process's map. */
static struct text_range program_text(pid_t pid, uint64_t within)
{
    struct text_range range = {0, 0};
    char path[64], line[4096];

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && within >= from && within < to)
            range = (struct text_range){from, to};
    }
    if (maps)
        fclose(maps);
    return range;
}

static bool wait_for_trap(pid_t pid)
{
    int status;

    for (;;) {
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return false;
        if (WSTOPSIG(status) == SIGTRAP)
            return true;
        if (ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status)) != 0)
            return false;
    }
}

/* A restartable sequence (rseq(2)) is sent to its abort label when its thread is stopped inside, as
 * it is at each step here: where the kernel looks for one, it finds none. 0: the thread has no such
 * word. */
static uint64_t restart_word(pid_t pid)
{
    struct __ptrace_rseq_configuration rseq;

    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, pid, (void *)sizeof(rseq), &rseq) != sizeof(rseq))
        return 0;
    return rseq.rseq_abi_pointer ? rseq.rseq_abi_pointer + 8 : 0;
}

/* From the instruction behind one mark to the next mark. -1: the process is gone. */
static long step_to_mark(pid_t pid, struct text_range own, uint64_t restart)
{
    struct user_regs_struct regs;
    long count = 0;

    for (;;) {
        if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
            return -1;
        bool inside = regs.rip >= own.from && regs.rip < own.to;
        if (inside) {
            errno = 0;
            long word = ptrace(PTRACE_PEEKTEXT, pid, (void *)regs.rip, NULL);
            if (errno == 0 && ((unsigned long)word & 0xff) == INT3)
                return count;
        } else {
            count++;
            if (restart && ptrace(PTRACE_POKEDATA, pid, (void *)restart, NULL) != 0)
                return -1;
        }
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || !wait_for_trap(pid))
            return -1;
    }
}

static int by_size(const void *a, const void *b)
{
    long left = *(const long *)a, right = *(const long *)b;
    return left < right ? -1 : left > right;
}

static void print_call(const char *name, long *count)
{
    double sum = 0;

    for (int i = 0; i < TIMES; i++)
        sum += (double)count[i];
    qsort(count, TIMES, sizeof(*count), by_size);
    printf("%-28s least=%ld median=%ld mean=%.1f most=%ld\n", name, count[0], count[TIMES / 2],
           sum / TIMES, count[TIMES - 1]);
}

static int count_calls(pid_t pid)
{
    struct text_range own = {0, 0};
    uint64_t restart = 0;

    for (unsigned call = 0; call < CALLS; call++) {
        long count[TIMES];
        for (int i = 0; i < TIMES; i++) {
            struct user_regs_struct regs;
            /* To the first mark at full speed. */
            if (!(call == 0 && i == 0) && ptrace(PTRACE_CONT, pid, NULL, NULL) != 0)
                return 1;
            if (!wait_for_trap(pid) || ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
                return 1;
            if (own.to == 0) {
                own = program_text(pid, regs.rip);
                restart = restart_word(pid);
                ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)PTRACE_O_EXITKILL);
            }
            if ((count[i] = step_to_mark(pid, own, restart)) < 0)
                return 1;
            /* Over the second one. */
            if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0 || !wait_for_trap(pid))
                return 1;
        }
        print_call(calls[call], count);
    }
    ptrace(PTRACE_KILL, pid, NULL, NULL);
    waitpid(pid, NULL, 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--stepped") == 0)
        return be_stepped_through();
    if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
        fprintf(stderr, "usage: instructions [LIBRARY]\n");
        return 2;
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (argc == 2)
            setenv("LD_PRELOAD", argv[1], 1);
        setenv("LD_BIND_NOW", "1", 1);
        /* The C library would fill each block, a step per byte. */
        unsetenv("MALLOC_PERTURB_");
        execl("/proc/self/exe", "instructions", "--stepped", (char *)NULL);
        _exit(127);
    }
    if (pid < 0)
        return 1;
    int status = count_calls(pid);
    if (status != 0)
        fprintf(stderr, "instructions: the process could not be stepped through\n");
    return status;
}
