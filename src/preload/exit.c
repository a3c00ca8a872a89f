/* SPDX-License-Identifier: MIT */
/* exit.c - the ways out that run no handler: _exit, _Exit and exec. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/os.h"
#include "preload/options.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/start.h"
#include "preload/thread.h"
#include "profile/profile.h"

XP_EXPORT _Noreturn void _exit(int status)
{
    xp_process_ends();
    xp_os_exit(status);
}

XP_EXPORT _Noreturn void _Exit(int status)
{
    xp_process_ends();
    xp_os_exit(status);
}

/* Not counted as the dump at exit: the exec may fail and the program go on. */
static void exec_dump(void)
{
    if (!xp_option(XP_OPTION_DUMP_ON_EXEC) || xp_mode() != XP_MODE_OWN || !xp_process_is_mine())
        return;
    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    if (!xp_thread_is_nested(self, &before))
        xp_profile_dump("exec", NULL, 0);
    xp_thread_leave(self, before);
}

static int no_such_function(void)
{
    errno = ENOSYS;
    return -1;
}

typedef int (*exec_fn)(const char *, char *const *);
typedef int (*exec_env_fn)(const char *, char *const *, char *const *);
typedef int (*exec_fd_fn)(int, char *const *, char *const *);

static int exec_by(enum xp_real which, const char *file, char *const *argv)
{
    exec_fn real = (exec_fn)xp_real(which);
    if (!real)
        return no_such_function();
    exec_dump();
    return real(file, argv);
}

static int exec_env_by(enum xp_real which, const char *file, char *const *argv, char *const *envp)
{
    exec_env_fn real = (exec_env_fn)xp_real(which);
    if (!real)
        return no_such_function();
    exec_dump();
    return real(file, argv, envp);
}

XP_EXPORT int execv(const char *path, char *const argv[])
{
    return exec_by(XP_REAL_EXECV, path, argv);
}

XP_EXPORT int execvp(const char *file, char *const argv[])
{
    return exec_by(XP_REAL_EXECVP, file, argv);
}

XP_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return exec_env_by(XP_REAL_EXECVE, path, argv, envp);
}

XP_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return exec_env_by(XP_REAL_EXECVPE, file, argv, envp);
}

XP_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    exec_fd_fn real = (exec_fd_fn)xp_real(XP_REAL_FEXECVE);
    if (!real)
        return no_such_function();
    exec_dump();
    return real(fd, argv, envp);
}

/* The list forms: the arguments become a vector on this stack, as in the C library, because they
 * may be called in a vfork child or a signal handler. */
#define LIST_TO_VECTOR(argv, first, list, last)                                                    \
    do {                                                                                           \
        size_t count_ = 1;                                                                         \
        va_start(list, last);                                                                      \
        while (va_arg(list, char *))                                                               \
            count_++;                                                                              \
        va_end(list);                                                                              \
        (argv) = __builtin_alloca((count_ + 1) * sizeof(*(argv)));                                 \
        (argv)[0] = (char *)(uintptr_t)(first);                                                    \
        va_start(list, last);                                                                      \
        for (size_t i_ = 1; i_ <= count_; i_++)                                                    \
            (argv)[i_] = va_arg(list, char *);                                                     \
    } while (0)

XP_EXPORT int execl(const char *path, const char *arg, ...)
{
    va_list list;
    char **argv;

    LIST_TO_VECTOR(argv, arg, list, arg);
    va_end(list);
    return exec_by(XP_REAL_EXECV, path, argv);
}

XP_EXPORT int execlp(const char *file, const char *arg, ...)
{
    va_list list;
    char **argv;

    LIST_TO_VECTOR(argv, arg, list, arg);
    va_end(list);
    return exec_by(XP_REAL_EXECVP, file, argv);
}

XP_EXPORT int execle(const char *path, const char *arg, ...)
{
    va_list list;
    char **argv;

    LIST_TO_VECTOR(argv, arg, list, arg);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return exec_env_by(XP_REAL_EXECVE, path, argv, envp);
}
