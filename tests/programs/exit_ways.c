/* SPDX-License-Identifier: MIT */
/* exit_ways.c - holds 23 blocks of 10007 bytes and ends in the way that argv[1] names. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *held[23];

__attribute__((noinline)) static void hold(void)
{
    for (int i = 0; i < 23; i++) {
        held[i] = malloc(10007);
        memset(held[i], i, 10007);
    }
}

/* Runs after main and after other handlers: what it frees is gone from the last dump. */
static void late_handler(void)
{
    for (int i = 0; i < 11; i++)
        free(held[i]);
}

static void on_alarm(int signo)
{
    (void)signo;
    _exit(7);
}

static int wait_for(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "return";
    char plain[] = "return", *exec_argv[] = {argv[0], argc > 2 ? argv[2] : plain, NULL};
    pid_t child;

    hold();
    if (strcmp(way, "return") == 0)
        return 7;
    if (strcmp(way, "exit") == 0)
        exit(7);
    if (strcmp(way, "atexit") == 0) {
        atexit(late_handler);
        exit(7);
    }
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(7);
    if (strcmp(way, "at_quick_exit") == 0) {
        at_quick_exit(late_handler);
        quick_exit(7);
    }
    if (strcmp(way, "_exit") == 0)
        _exit(7);
    if (strcmp(way, "_Exit") == 0)
        _Exit(7);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "signal") == 0) {
        signal(SIGALRM, on_alarm);
        raise(SIGALRM);
    }
    if (strcmp(way, "closed") == 0) {
        close(2);
        close(1);
        exit(7);
    }
    if (strcmp(way, "vfork") == 0) {
        child = vfork();
        if (child == 0)
            _exit(5);
        return wait_for(child) == 5 ? 7 : 1;
    }
    if (strcmp(way, "vfork-exec") == 0) {
        child = vfork();
        if (child == 0) {
            execv(argv[0], exec_argv);
            _exit(127);
        }
        return wait_for(child) == 7 ? 7 : 1;
    }
    if (strcmp(way, "fork") == 0) {
        child = fork();
        if (child == 0)
            exit(7);
        return wait_for(child) == 7 ? 7 : 1;
    }
    if (strcmp(way, "fork-exec") == 0) {
        child = fork();
        if (child == 0) {
            execl(argv[0], argv[0], exec_argv[1], (char *)NULL);
            _exit(127);
        }
        return wait_for(child) == 7 ? 7 : 1;
    }
    if (strcmp(way, "raw-fork") == 0) { /* a fork that no handler hears of */
        child = (pid_t)syscall(SYS_fork);
        if (child == 0)
            _exit(7);
        return wait_for(child) == 7 ? 7 : 1;
    }
    if (strcmp(way, "exec") == 0)
        execv(argv[0], exec_argv);
    if (strcmp(way, "execvp") == 0)
        execvp(argv[0], exec_argv);
    if (strcmp(way, "execle") == 0) {
        extern char **environ;
        execle(argv[0], argv[0], exec_argv[1], (char *)NULL, environ);
    }
    if (strcmp(way, "exec-fails") == 0) {
        execv("/does/not/exist", exec_argv);
        return 7;
    }
    if (strcmp(way, "chdir") == 0) {
        if (chdir("/") != 0)
            return 1;
        return 7;
    }
    if (strcmp(way, "daemon") == 0) { /* fd 2 becomes another file */
        if (!freopen(argv[2], "w", stderr))
            return 1;
        fprintf(stderr, "only mine\n");
        return 7;
    }
    fprintf(stderr, "no such way: %s\n", way);
    return 1;
}
