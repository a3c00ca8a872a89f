/* SPDX-License-Identifier: MIT */
/* worker.h - runs jobs that may crash, hang or eat memory in forked processes, and takes records.
 *
 * Layer report; uses error. No threads exist, and none is made. A process works on a batch of jobs,
 * cheap ones together; what it says is framed, checked and bounded, because after a parser went
 * wrong any byte may come. When it dies, the job it was at has failed with a reason and the rest of
 * its batch goes to a new process. Every process started is waited for. */
#ifndef HR_REPORT_WORKER_H
#define HR_REPORT_WORKER_H

#include "report/error.h"

#define HR_RECORD_MAX (1u << 20)

/* In the worker: where records go. */
struct hr_wire;

/* Sends one record of the job that runs now. kind is the caller's, size <= HR_RECORD_MAX. Never
 * fails: when the parent is gone the process ends. */
void hr_wire_send(struct hr_wire *wire, uint32_t kind, const void *data, size_t size);

/* In the worker: ends the process; the job has failed with that reason. */
_Noreturn void hr_worker_out_of_memory(void);

struct hr_jobs {
    uint32_t count;
    const uint64_t *costs; /* relative; bytes to read is a fair guess */
    void *context;
    /* In the worker. Whatever it allocates dies with the process. */
    void (*run)(struct hr_wire *wire, uint32_t job, void *context);
    /* In the parent. Another process of the same run sends the same job only after failed() said
     * true. Nonzero: the record makes no sense; the process is killed and the job has failed. */
    int (*take)(uint32_t job, uint32_t kind, const uint8_t *data, size_t size, void *context);
    /* In the parent: a process begins to work on the job; names it defined before are void. */
    void (*begin)(uint32_t job, void *context);
    /* In the parent. reason is one phrase: "crashed (SIGSEGV)", "took longer than 60 s". True: try
     * the job once more. */
    bool (*failed)(uint32_t job, const char *reason, void *context);
};

struct hr_worker_limits {
    unsigned processes;  /* at once, >= 1 */
    unsigned timeout_s;  /* for one job, wall clock; also CPU */
    uint64_t memory_max; /* address space of one process; 0 unlimited */
};

/* Runs all. 0, or -errno with *err when no process could be made at all, or without memory. */
int hr_workers_run(const struct hr_jobs *jobs, const struct hr_worker_limits *limits,
                   struct hr_error *err);

#endif
