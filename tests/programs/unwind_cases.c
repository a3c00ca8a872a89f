/* SPDX-License-Identifier: MIT */
/* unwind_cases.c - stacks of every shape that C makes. */
#include <alloca.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#include "unwind_oracle.h"

#define NOINLINE __attribute__((noinline))

/* Keeps the compiler from turning a call into a jump, and memory from being optimised away. */
#define KEEP(p) __asm__ volatile("" : : "g"(p) : "memory")

static NOINLINE int recurse(int n)
{
    int deeper = 0;

    if (n > 0)
        deeper = recurse(n - 1);
    else
        unwind_probe();
    KEEP(&deeper);
    return deeper + 1;
}

static void recursion(void)
{
    recurse(37);
}

static NOINLINE void with_alloca(size_t n)
{
    char *p = alloca(n);

    memset(p, 1, n);
    unwind_probe();
    KEEP(p);
}

static void alloca_frames(void)
{
    with_alloca(23);
    with_alloca(10007);
}

static NOINLINE void with_vla(int n)
{
    int a[n], b[2 * n];

    memset(a, 1, sizeof(a));
    memset(b, 1, sizeof(b));
    if (n > 3)
        with_vla(n - 1);
    unwind_probe();
    KEEP(a);
    KEEP(b);
}

static void vla_frames(void)
{
    with_vla(11);
}

static NOINLINE void with_big_frame(int n)
{
    char big[100003];

    memset(big, n, sizeof(big));
    if (n > 0)
        with_big_frame(n - 1);
    else
        unwind_probe();
    KEEP(big);
}

static void big_frames(void)
{
    with_big_frame(7);
}

static NOINLINE void with_aligned(int n, int m)
{
    _Alignas(64) char aligned[192];

    memset(aligned, n, sizeof(aligned));
    if (n > 0)
        with_aligned(n - 1, m);
    else
        unwind_probe();
    KEEP(aligned);
}

static NOINLINE void with_aligned_and_alloca(int n, size_t size)
{
    _Alignas(128) char aligned[256];
    char *p = alloca(size);

    memset(aligned, n, sizeof(aligned));
    memset(p, n, size);
    if (n > 0)
        with_aligned_and_alloca(n - 1, size + 13);
    unwind_probe();
    KEEP(aligned);
    KEEP(p);
}

static void realigned_frames(void)
{
    with_aligned(5, 1);
    with_aligned_and_alloca(4, 101);
}

static NOINLINE long many_arguments(long a, long b, long c, long d, long e, long f, long g, long h,
                                    long i, long j)
{
    unwind_probe();
    return a + b + c + d + e + f + g + h + i + j;
}

static void pushed_arguments(void)
{
    long sum = many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    KEEP(&sum);
    unwind_probe();
}

static int compare_ints(const void *a, const void *b)
{
    unwind_probe();
    return *(const int *)a - *(const int *)b;
}

static void callbacks_through_libc(void)
{
    int values[] = {3, 1, 2, 5, 4}, key = 4;

    qsort(values, 5, sizeof(int), compare_ints);
    int *found = bsearch(&key, values, 5, sizeof(int), compare_ints);
    KEEP(found);
}

static NOINLINE void tail_called(int n)
{
    if (n > 0)
        recurse(n);
    else
        unwind_probe();
    KEEP(&n);
}

static NOINLINE void tail_calls(void)
{
    tail_called(3);
}

static jmp_buf leave;

/* The call is the last instruction: its return address lies behind the function's end. */
static NOINLINE __attribute__((noreturn)) void probe_and_leave(void)
{
    unwind_probe();
    longjmp(leave, 1);
}

static NOINLINE void call_at_the_very_end(void)
{
    probe_and_leave();
}

static void after_longjmp(void)
{
    if (setjmp(leave) == 0)
        call_at_the_very_end();
    unwind_probe();
}

static void *in_thread(void *arg)
{
    recurse(5);
    return arg;
}

static void threads(void)
{
    pthread_t t;
    for (int i = 0; i < 3; i++) {
        pthread_create(&t, NULL, in_thread, NULL);
        pthread_join(t, NULL);
    }
}

static void at_thread_exit(void *arg)
{
    unwind_probe();
    KEEP(arg);
}

static pthread_key_t key;

static void *set_key(void *arg)
{
    pthread_setspecific(key, &key);
    return arg;
}

static void thread_exit_destructors(void)
{
    pthread_t t;

    pthread_key_create(&key, at_thread_exit);
    pthread_create(&t, NULL, set_key, NULL);
    pthread_join(t, NULL);
    pthread_key_delete(key);
}

/* ---- signals ---- */

static void on_signal(int signo)
{
    unwind_probe();
    if (signo == SIGUSR1)
        raise(SIGUSR2);
    KEEP(&signo);
}

static NOINLINE void raise_deep(int n)
{
    if (n > 0)
        raise_deep(n - 1);
    else
        raise(SIGUSR1);
    KEEP(&n);
}

static void with_handlers(int flags, void (*body)(void))
{
    struct sigaction action, old[3];

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_signal;
    action.sa_flags = flags;
    sigaction(SIGUSR1, &action, &old[0]);
    sigaction(SIGUSR2, &action, &old[1]);
    sigaction(SIGALRM, &action, &old[2]);
    body();
    sigaction(SIGUSR1, &old[0], NULL);
    sigaction(SIGUSR2, &old[1], NULL);
    sigaction(SIGALRM, &old[2], NULL);
}

static void raise_some(void)
{
    raise_deep(7);
}

static void nested_signals(void)
{
    with_handlers(0, raise_some);
}

static void nested_signals_on_their_own_stack(void)
{
    static char memory[256 << 10];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)}, old;

    sigaltstack(&stack, &old);
    with_handlers(SA_ONSTACK, raise_some);
    sigaltstack(&old, NULL);
}

/* Interrupted at any instruction, prologues and epilogues among them. */
static NOINLINE unsigned spin_leaf(unsigned x)
{
    char local[24];
    local[x % sizeof(local)] = (char)x;
    KEEP(local);
    return x * 3 + (unsigned)local[x % sizeof(local)];
}

static NOINLINE unsigned spin(unsigned x, int n)
{
    if (n == 0)
        return spin_leaf(x) + 1;
    return spin(x + 1, n - 1) + spin_leaf(x);
}

static void spin_for_a_while(void)
{
    struct itimerval timer = {{0, 1013}, {0, 1013}}, off = {{0, 0}, {0, 0}};
    int until = unwind_probes() + 150;
    unsigned x = 0;

    setitimer(ITIMER_REAL, &timer, NULL);
    while (unwind_probes() < until)
        x += spin(x, 13);
    setitimer(ITIMER_REAL, &off, NULL);
    KEEP(&x);
}

static void interrupted_anywhere(void)
{
    with_handlers(0, spin_for_a_while);
}

static void interrupted_anywhere_on_its_own_stack(void)
{
    static char memory[256 << 10];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)}, old;

    sigaltstack(&stack, &old);
    with_handlers(SA_ONSTACK, spin_for_a_while);
    sigaltstack(&old, NULL);
}

static sigjmp_buf recover;

static void on_fault(int signo)
{
    unwind_probe();
    siglongjmp(recover, signo);
}

/* Faults at its first instruction: the interrupted pc must not be looked up one byte lower. */
void fault_at_once(void);
__asm__(".text\n"
        ".type fault_at_once, @function\n"
        "fault_at_once:\n"
        ".cfi_startproc\n"
        "ud2\n"
        ".cfi_endproc\n"
        ".size fault_at_once, .-fault_at_once\n");

static void fault_at_first_instruction(void)
{
    struct sigaction action, old;

    memset(&action, 0, sizeof(action));
    action.sa_handler = on_fault;
    sigaction(SIGILL, &action, &old);
    if (sigsetjmp(recover, 1) == 0)
        fault_at_once();
    sigaction(SIGILL, &old, NULL);
}

/* ---- coroutines ---- */

static ucontext_t main_context, coroutine;

static void coroutine_body(void)
{
    recurse(9);
    swapcontext(&coroutine, &main_context);
    recurse(3);
}

static void coroutines(void)
{
    char *memory = malloc(64 << 10);

    getcontext(&coroutine);
    coroutine.uc_stack.ss_sp = memory;
    coroutine.uc_stack.ss_size = 64 << 10;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, coroutine_body, 0);
    swapcontext(&main_context, &coroutine);
    unwind_probe();
    swapcontext(&main_context, &coroutine);
    free(memory);
}

const struct unwind_case unwind_cases_c[] = {
    {"recursion", recursion, 1},
    {"alloca", alloca_frames, 2},
    {"variable_length_arrays", vla_frames, 9},
    {"frames_of_100_kilobytes", big_frames, 1},
    {"realigned_frames", realigned_frames, 6},
    {"pushed_arguments", pushed_arguments, 2},
    {"callbacks_through_libc", callbacks_through_libc, 6},
    {"tail_calls", tail_calls, 1},
    {"after_longjmp_and_call_at_the_very_end", after_longjmp, 2},
    {"threads", threads, 3},
    {"thread_exit_destructors", thread_exit_destructors, 1},
    {"nested_signals", nested_signals, 2},
    {"nested_signals_on_their_own_stack", nested_signals_on_their_own_stack, 2},
    {"interrupted_anywhere", interrupted_anywhere, 150},
    {"interrupted_anywhere_on_its_own_stack", interrupted_anywhere_on_its_own_stack, 150},
    {"fault_at_first_instruction", fault_at_first_instruction, 1},
    {"coroutines", coroutines, 3},
    {NULL, NULL, 0},
};
