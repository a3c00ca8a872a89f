/* SPDX-License-Identifier: MIT */
/* process.c - which process this is, and what fork does to us. */
#include "preload/process.h"

#include <pthread.h>

#include "base/message.h"
#include "base/meta.h"
#include "base/os.h"
#include "capture/capture.h"
#include "core/heap.h"
#include "preload/helper.h"
#include "preload/options.h"
#include "preload/start.h"
#include "preload/stats.h"
#include "preload/thread.h"
#include "profile/profile.h"

static struct {
    _Atomic pid_t pid;
    /* Tells of forks that no handler ran in. NULL when the kernel cannot: then only handlers do. */
    _Atomic uint32_t *alive;
    bool is_child;     /* some ancestor had us loaded and another number */
    bool second_image; /* this process itself had, before an exec */
} process;

static void set_alive(void)
{
    if (process.alive)
        atomic_store_explicit(process.alive, 1, memory_order_relaxed);
}

void xp_process_init(void)
{
    atomic_store_explicit(&process.pid, xp_os_getpid(), memory_order_relaxed);
    if (xp_option_is_set(XP_OPTION_PROCESS)) {
        bool same = (pid_t)xp_option(XP_OPTION_PROCESS) == process.pid;
        process.second_image = same;
        process.is_child = !same;
    }
    process.alive = xp_meta_fork_word();
}

bool xp_process_use_pid(void)
{
    return process.is_child || process.second_image || xp_option(XP_OPTION_USE_PID);
}

bool xp_process_is_child(void)
{
    return process.is_child;
}

bool xp_process_is_quiet(void)
{
    /* A log file is there to hear of everybody. */
    return xp_option_signed(XP_OPTION_VERBOSE) < 0 ||
           (process.is_child && !xp_option_text(XP_OPTION_LOG));
}

/* libc's fork takes the lock of its list of FILEs after the handlers, and a thread in fflush(NULL)
 * has that lock while it waits for a FILE whose holder may be in malloc: whoever has our locks must
 * not wait for it. So it is taken before them; its holder may take it again. With one thread libc
 * leaves it alone, which it tells since 2.32. */
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));
extern char __libc_single_threaded __attribute__((weak));

static bool lock_files(void)
{
    if (!_IO_list_lock || !_IO_list_unlock || !_IO_list_resetlock || !&__libc_single_threaded ||
        __libc_single_threaded)
        return false;
    _IO_list_lock();
    return true;
}

/* Locks are taken in the order of their ranks, and until they are given back no handler may come
 * and wait for one. A fork in a signal handler that interrupted a slow path finds some of them
 * taken by its own thread: those stay, and the child resets them. */
static void fork_prepare(void)
{
    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);

    self->fork_nested = xp_thread_is_nested(self, &before);
    self->fork_before = before;
    if (!self->fork_nested) {
        xp_os_block_signals(&self->fork_signals);
        self->fork_files = lock_files();
        xp_capture_fork_prepare();
        xp_thread_fork_prepare();
        xp_core_fork_prepare(); /* and the memory for ourselves, which ranks last */
    }
}

static void fork_parent(void)
{
    struct xp_thread *self = xp_thread_get();

    if (!self->fork_nested) {
        xp_core_fork_parent();
        xp_thread_fork_parent();
        xp_capture_fork_parent();
        if (self->fork_files)
            _IO_list_unlock();
        xp_os_restore_signals(&self->fork_signals);
    }
    xp_thread_leave(self, self->fork_before);
}

static void become_child(void)
{
    xp_core_fork_child();
    xp_thread_fork_child();
    xp_capture_fork_child();
    atomic_store_explicit(&process.pid, xp_os_getpid(), memory_order_relaxed);
    process.is_child = true;
    set_alive();
    xp_message_set_quiet(xp_process_is_quiet());
    xp_profile_fork_child();
    xp_helper_fork_child();
    xp_stats_fork_child();
}

static void fork_child(void)
{
    struct xp_thread *self = xp_thread_get();

    become_child();
    self->tid = xp_os_gettid();
    if (!self->fork_nested) {
        if (self->fork_files)
            _IO_list_resetlock(); /* as libc does when it took the lock too */
        xp_os_restore_signals(&self->fork_signals);
    }
    xp_thread_leave(self, self->fork_before);
}

void xp_process_constructor(void)
{
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    if ((xp_option_text(XP_OPTION_PREFIX) || xp_option(XP_OPTION_STATS)) &&
        !xp_option_is_set(XP_OPTION_PROCESS))
        xp_options_mark_environment(process.pid);
}

bool xp_process_was_forked(void)
{
    return process.alive && atomic_load_explicit(process.alive, memory_order_relaxed) == 0;
}

bool xp_process_is_mine(void)
{
    if (xp_process_was_forked())
        become_child();
    return xp_os_getpid() == atomic_load_explicit(&process.pid, memory_order_relaxed);
}

static void dump_at_exit(void)
{
    /* A handler that ends the program from within a slow path of ours may find locks taken. */
    struct xp_thread *self = xp_thread_get();
    uintptr_t before = xp_thread_enter(self);
    if (self == &xp_thread_none || !xp_thread_is_nested(self, &before))
        xp_profile_dump_at_exit();
    xp_thread_leave(self, before);
}

void xp_process_ends(void)
{
    bool dumps = xp_option_text(XP_OPTION_PREFIX);

    if (xp_mode() != XP_MODE_OWN || (!dumps && !xp_option(XP_OPTION_STATS)) ||
        !xp_process_is_mine())
        return;
    if (dumps)
        dump_at_exit();
    xp_stats_write();
}
