/* SPDX-License-Identifier: MIT */
/* helper.c - the thread that dumps by the clock and by a signal, and gives memory back. */
#include "preload/helper.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "base/message.h"
#include "base/os.h"
#include "core/heap.h"
#include "preload/options.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/thread.h"
#include "profile/profile.h"

#define STACK_SIZE ((size_t)256 << 10)

_Atomic bool xp_helper_waiting;

static struct {
    _Atomic uint32_t wake;     /* 1: a signal came. The thread sleeps on it */
    _Atomic bool has_thread;   /* in this process */
    _Atomic bool thread_fails; /* it could not be made: slow paths do its work */
} helper;

static bool dumps_want_thread(void)
{
    return xp_option_text(XP_OPTION_PREFIX) &&
           (xp_option(XP_OPTION_TIME_INTERVAL) || xp_option(XP_OPTION_SIGNAL));
}

static bool wants_thread(void)
{
    return dumps_want_thread() || xp_option(XP_OPTION_BG_THREAD);
}

/* Answers a signal, if one came; then the clock. The ns until it wants to be asked again, 0: never.
 */
static uint64_t serve_dumps(void)
{
    if (atomic_exchange_explicit(&helper.wake, 0, memory_order_acquire))
        xp_profile_dump("signal", NULL, 0);
    return xp_option(XP_OPTION_TIME_INTERVAL) ? xp_profile_tick() : 0;
}

static uint64_t serve(void)
{
    uint64_t next_ns = dumps_want_thread() ? serve_dumps() : 0;

    if (xp_option(XP_OPTION_BG_THREAD)) {
        uint64_t purge_ns = xp_heap_background();
        if (purge_ns && (!next_ns || purge_ns < next_ns))
            next_ns = purge_ns;
    }
    return next_ns;
}

static void *thread_runs(void *arg)
{
    struct xp_thread *self = xp_thread_get();

    if (self != &xp_thread_none)
        self->uncounted = true;
    for (;;) {
        uintptr_t before = xp_thread_enter(self);
        uint64_t sleep_ns = serve();
        xp_thread_leave(self, before);
        xp_os_futex_wait(&helper.wake, 0, sleep_ns);
    }
    return arg;
}

/* The thread inherits our mask. By libc's call, which leaves the two signals alone by which libc
 * itself stops threads in setuid() and pthread_cancel(). */
static bool make_thread(void)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))xp_real(
            XP_REAL_PTHREAD_CREATE);
    struct xp_thread *self = xp_thread_get();
    pthread_attr_t attr;
    pthread_t thread;
    sigset_t all, old;

    if (!create || self == &xp_thread_none || pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    bool uncounted = self->uncounted;
    self->uncounted = true;
    int r = create(&thread, &attr, thread_runs, NULL);
    if (r == EINVAL) { /* the program's own static TLS needs more than this stack */
        pthread_attr_setstacksize(&attr, 4 * STACK_SIZE);
        r = create(&thread, &attr, thread_runs, NULL);
    }
    self->uncounted = uncounted;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return r == 0;
}

static void ensure_thread(void)
{
    if (atomic_exchange_explicit(&helper.has_thread, true, memory_order_relaxed))
        return;
    if (make_thread())
        return;
    if (!dumps_want_thread()) {
        xp_message_text("libxprof: cannot start a thread that gives memory back; "
                        "it goes back while the program allocates");
        return;
    }
    /* Too many threads, or no memory for one: whoever allocates next does the dump. */
    atomic_store_explicit(&helper.has_thread, false, memory_order_relaxed);
    atomic_store_explicit(&helper.thread_fails, true, memory_order_relaxed);
    atomic_store_explicit(&xp_helper_waiting, true, memory_order_relaxed);
    xp_message_text("libxprof: cannot start a thread for dumps by time or signal; "
                    "they wait for allocations");
}

static void on_signal(int signo)
{
    (void)signo;
    if (xp_process_was_forked() || !xp_process_is_mine())
        return;
    /* release: pairs with the exchange in serve(). */
    atomic_store_explicit(&helper.wake, 1, memory_order_release);
    xp_os_futex_wake(&helper.wake, 1);
    if (!atomic_load_explicit(&helper.has_thread, memory_order_relaxed))
        atomic_store_explicit(&xp_helper_waiting, true, memory_order_relaxed);
}

static void install_signal(int signo)
{
    struct sigaction old, mine = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct xp_message m;
    const char *before = "libxprof: HEAPPROFILESIGNAL: signal ", *after = " cannot be caught";

    if (sigaction(signo, NULL, &old) == 0) {
        if ((old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) {
            before = "Signal ";
            after = " already in use";
        } else if (sigaction(signo, &mine, NULL) == 0) {
            before = "Using signal ";
            after = " as heap profiling switch";
        }
    }
    xp_message_begin(&m);
    xp_out_text(&m.out, before);
    xp_out_signed(&m.out, signo, 0);
    xp_out_text(&m.out, after);
    xp_message_end(&m);
}

void xp_helper_init(void)
{
    int error = errno;

    if (wants_thread()) {
        if (dumps_want_thread() && xp_option(XP_OPTION_SIGNAL))
            install_signal((int)xp_option(XP_OPTION_SIGNAL));
        ensure_thread();
    }
    errno = error;
}

void xp_helper_serve(void)
{
    int error = errno;

    if (!xp_process_is_mine())
        return;
    if (atomic_load_explicit(&helper.thread_fails, memory_order_relaxed)) {
        serve_dumps();
    } else {
        atomic_store_explicit(&xp_helper_waiting, false, memory_order_relaxed);
        ensure_thread();
    }
    errno = error;
}

void xp_helper_fork_child(void)
{
    atomic_store_explicit(&helper.has_thread, false, memory_order_relaxed);
    atomic_store_explicit(&helper.thread_fails, false, memory_order_relaxed);
    atomic_store_explicit(&helper.wake, 0, memory_order_relaxed);
    atomic_store_explicit(&xp_helper_waiting, wants_thread(), memory_order_relaxed);
}
