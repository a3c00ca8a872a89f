/* SPDX-License-Identifier: MIT */
/* test.c - runs registered tests one after the other and prints TAP. */
#include "test.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    struct test *first, **last;
    jmp_buf leave; /* where a failed CHECK goes */
    bool failed;
    const char *skipped; /* reason, or NULL */
} tests;

void test_register(struct test *test)
{
    if (!tests.last)
        tests.last = &tests.first;
    *tests.last = test;
    tests.last = &test->next;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;

    printf("# %s:%d: ", file, line);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    fflush(stdout);
    tests.failed = true;
    longjmp(tests.leave, 1);
}

void test_skip(const char *reason)
{
    tests.skipped = reason;
    longjmp(tests.leave, 1);
}

int test_fork(void (*body)(void *arg), void *arg, char *text, size_t size)
{
    int pipe_fds[2];

    fflush(stdout);
    if (pipe(pipe_fds) != 0)
        test_fail(__FILE__, __LINE__, "pipe");
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipe_fds[1], 2);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        body(arg);
        _exit(0);
    }
    close(pipe_fds[1]);
    size_t length = 0;
    char drain[512];
    for (;;) {
        ssize_t n = read(pipe_fds[0], drain, sizeof(drain));
        if (n <= 0)
            break;
        for (ssize_t i = 0; i < n && length + 1 < size; i++)
            text[length++] = drain[i];
    }
    if (size > 0)
        text[length] = 0;
    close(pipe_fds[0]);
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
}

static bool wanted(const struct test *test, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(test->name, argv[i]) == 0)
            return true;
    }
    return argc < 2;
}

static void run_one(const struct test *test)
{
    tests.failed = false;
    tests.skipped = NULL;
    if (setjmp(tests.leave) == 0)
        test->run();
}

int main(int argc, char **argv)
{
    int number = 0, failures = 0;

    for (struct test *test = tests.first; test; test = test->next) {
        if (!wanted(test, argc, argv))
            continue;
        number++;
        run_one(test);
        failures += tests.failed;
        printf("%s %d - %s%s%s\n", tests.failed ? "not ok" : "ok", number, test->name,
               tests.skipped ? " # SKIP " : "", tests.skipped ? tests.skipped : "");
        fflush(stdout);
    }
    printf("1..%d\n", number);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
