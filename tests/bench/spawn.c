/* SPDX-License-Identifier: MIT */
/* spawn.c - how long /bin/true takes, and a script that forks as configure scripts do. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "workload.h"

enum { WHAT };
enum { TRUE_PROGRAM, FORKS };

#define FORKS_PER_TURN 10

static struct parameter parameters[] = {
    [WHAT] = {"what", TRUE_PROGRAM, 0, 0, "true|forks"},
};

extern char **environ;

/* Ten forks a turn, half of them programs: what a configure script does between two compilers. */
static const char script[] = "i=0\n"
                             "while [ $i -lt $1 ]; do\n"
                             "    a=$(echo conftest$i)\n"
                             "    b=$(echo \"$a\" | sed 's/conf/test/')\n"
                             "    ( : ) && (exit 1)\n"
                             "    c=$(expr $i + 1)\n"
                             "    case $b in *x) exit 1 ;; esac\n"
                             "    echo \"checking for $b\" | grep checking >/dev/null\n"
                             "    i=$((i + 1))\n"
                             "done\n";

static void run_program(char **argv)
{
    pid_t pid;
    int status, r = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);

    if (r != 0) {
        fprintf(stderr, "spawn: %s: %s\n", argv[0], strerror(r));
        exit(1);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (status != 0) {
        fprintf(stderr, "spawn: %s ended with status %#x\n", argv[0], (unsigned)status);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct measured measured;
    double seconds = workload_arguments(
        argc, argv, "Runs /bin/true, or a script of forks (10,000 with SECONDS=20), one by one.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    uint64_t end_ns = clock_ns() + (uint64_t)(seconds * 1e9), runs = 0;
    const char *name = "true";

    measure_begin(&measured);
    if (parameters[WHAT].value == TRUE_PROGRAM) {
        char *program[] = {(char[]){"/bin/true"}, NULL};
        for (; clock_ns() < end_ns; runs++)
            run_program(program);
    } else {
        char turns[24];
        unsigned count = (unsigned)(seconds * 50) + 1;
        char *program[] = {(char[]){"/bin/sh"}, (char[]){"-c"}, (char *)script,
                           (char[]){"sh"},      turns,          NULL};
        snprintf(turns, sizeof(turns), "%u", count);
        run_program(program);
        runs = (uint64_t)count * FORKS_PER_TURN;
        name = "forks";
    }
    measure_end(&measured, runs);
    print_begin(name, measured.seconds / (double)runs * 1e3, "ms", &measured);
    print_end();
    return 0;
}
