/* SPDX-License-Identifier: MIT */
/* jump_out.c - a handler leaves malloc and free by siglongjmp, 600 times; then all goes on as ever.
 *
 * At the end 401 blocks of table_slot() live, of 24 to 1023 bytes, and 301 of 5003 bytes of
 * after_the_storm(). What the jumps made homeless comes on top. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

static sigjmp_buf back;
static volatile sig_atomic_t may_jump, jumps;
static void *volatile table[401], *volatile after[301];

static void handler(int signo)
{
    struct itimerval next = {{0, 0}, {0, 150}};

    (void)signo;
    setitimer(ITIMER_REAL, &next, NULL);
    if (may_jump) {
        may_jump = 0;
        jumps++;
        siglongjmp(back, 1);
    }
}

__attribute__((noinline)) static void *table_slot(unsigned n)
{
    return malloc(24 + n % 1000);
}

__attribute__((noinline)) static void *after_the_storm(void)
{
    return malloc(5003);
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    volatile unsigned n = 0;

    sigaction(SIGALRM, &action, NULL);
    raise(SIGALRM);
    sigsetjmp(back, 1);
    while (jumps < 600) {
        void *old = table[n % 401];
        table[n % 401] = NULL;
        may_jump = 1;
        free(old);
        void *now = table_slot(n);
        may_jump = 0;
        table[n % 401] = now;
        n++;
    }
    signal(SIGALRM, SIG_IGN);
    for (int i = 0; i < 301; i++)
        after[i] = after_the_storm();
    printf("%d jumps\n", (int)jumps);
    return 0;
}
