/* SPDX-License-Identifier: MIT */
/* account.c - runs a program and writes down what it took: time, faults, memory, switches.
 *
 * Usage: account FILE [NAME=VALUE ...] PROGRAM [ARGUMENT ...]
 * A program of its own, because a child's peak begins with that of the process it was started from:
 * small here, tens of MiB in an interpreter. `others` is how many cores other processes used
 * meanwhile. FILE gets one line of key=value; the exit status is the program's, 128 + the signal's
 * number if it was killed, 127 if it could not be started. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(struct timeval tv)
{
    return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

static double now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* CPU time that all processes used since the system started. */
static double busy_seconds(void)
{
    unsigned long long user, nice, sys, idle, iowait, irq, softirq, steal;
    double busy = 0;
    FILE *file = fopen("/proc/stat", "r");

    if (file && fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &sys,
                       &idle, &iowait, &irq, &softirq, &steal) == 8)
        busy = (double)(user + nice + sys + irq + softirq + steal) / (double)sysconf(_SC_CLK_TCK);
    if (file)
        fclose(file);
    return busy;
}

int main(int argc, char **argv)
{
    int first = 2, status;
    struct rusage usage;

    while (first < argc && strchr(argv[first], '='))
        first++;
    if (first >= argc) {
        fprintf(stderr, "usage: account FILE [NAME=VALUE ...] PROGRAM [ARGUMENT ...]\n");
        return 2;
    }
    double start = now(), busy = busy_seconds();
    pid_t pid = fork();
    if (pid == 0) {
        for (int i = 2; i < first; i++)
            putenv(argv[i]);
        execvp(argv[first], argv + first);
        fprintf(stderr, "account: %s: %s\n", argv[first], strerror(errno));
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid) {
        perror("account");
        return 127;
    }
    double wall = now() - start;
    double others = busy_seconds() - busy - seconds_of(usage.ru_utime) - seconds_of(usage.ru_stime);

    FILE *file = fopen(argv[1], "w");
    if (!file) {
        fprintf(stderr, "account: %s: %s\n", argv[1], strerror(errno));
        return 127;
    }
    fprintf(file,
            "wall=%.6f user=%.6f sys=%.6f minflt=%ld maxrss_mib=%.3f nvcsw=%ld nivcsw=%ld "
            "others=%.3f\n",
            wall, seconds_of(usage.ru_utime), seconds_of(usage.ru_stime), usage.ru_minflt,
            (double)usage.ru_maxrss / 1024, usage.ru_nvcsw, usage.ru_nivcsw,
            others > 0 ? others / wall : 0);
    if (fclose(file) != 0)
        return 127;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
