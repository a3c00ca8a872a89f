/* SPDX-License-Identifier: MIT */
/* restart.c - where the kernel looks for this thread's restartable sequence. */
#include "core/restart.h"

#include <sys/rseq.h>

uint64_t *xp_restart_word(void)
{
    struct rseq *area = (struct rseq *)(xp_thread_pointer() + (uintptr_t)__rseq_offset);

    /* Registered by libc for every thread, or (tunable, old kernel, valgrind) for none; and a
     * sandbox may refuse it to later threads. */
    if (__rseq_size == 0 || (int32_t)area->cpu_id < 0)
        return NULL;
    return (uint64_t *)&area->rseq_cs;
}
