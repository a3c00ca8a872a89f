/* SPDX-License-Identifier: MIT */
/* exit_waits.c - holds 23 blocks of 10007 bytes and then does nothing, in a way that argv[1] names,
 * until the file argv[2] exists. Never allocates meanwhile. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile void *held[23];

static void ignore(int signo)
{
    (void)signo;
}

static int wait_for_file(const char *path)
{
    for (int i = 0; i < 600; i++) {
        if (access(path, F_OK) == 0)
            return 0;
        usleep(50000);
    }
    return 3;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    for (int i = 0; i < 23; i++)
        held[i] = malloc(10007);
    if (strcmp(argv[1], "usr2-is-mine") == 0)
        signal(SIGUSR2, ignore);
    if (strcmp(argv[1], "child") == 0) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            free(malloc(50000)); /* its first slow path */
            free(malloc(3000000));
            _exit(wait_for_file(argv[2]));
        }
        printf("%d\n", (int)child);
        fflush(stdout);
        waitpid(child, &status, 0);
        return WEXITSTATUS(status);
    }
    puts("ready");
    fflush(stdout);
    return wait_for_file(argv[2]);
}
