/* SPDX-License-Identifier: MIT */
/* report_worker.c - jobs that crash, hang, lie and eat memory cost themselves and nobody else. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "report/worker.h"
#include "test.h"

enum { JOBS = 23 };

enum what { FINE, CRASH, HANG, EXIT, EAT, NO_MEMORY, NONSENSE, FLOOD, REFUSED, STDOUT };

struct seen {
    enum what what[JOBS];
    bool heal;    /* the second try is fine */
    bool patient; /* no job hangs */
    uint32_t tries[JOBS], records[JOBS], failures[JOBS];
    uint64_t sums[JOBS];
    char reason[64]; /* the last */
};

static void run(struct hr_wire *wire, uint32_t job, void *context)
{
    struct seen *seen = context;
    uint32_t numbers[3] = {job, 101, 7};
    uint8_t *large;
    hr_wire_send(wire, 1, numbers, sizeof(numbers));
    if (seen->heal && seen->failures[job] > 0)
        return;
    switch (seen->what[job]) {
    case FINE:
        break;
    case CRASH:
        raise(SIGSEGV);
        break;
    case HANG:
        for (;;)
            pause();
    case EXIT:
        _exit(0);
    case EAT:
        for (;;) {
            large = malloc(1 << 20);
            if (!large)
                hr_worker_out_of_memory();
            memset(large, 1, 4096);
            __asm__ volatile("" : : "r"(large) : "memory"); /* or it is never allocated */
        }
    case NO_MEMORY:
        hr_worker_out_of_memory();
    case NONSENSE:
        /* The pipe is the highest descriptor of a worker. */
        for (int fd = 3; fd < 64; fd++)
            if (write(fd, "nonsense nonsense nonsense nonsense", 35) == 35)
                break;
        pause();
        break;
    case FLOOD:
        for (;;)
            hr_wire_send(wire, 1, numbers, sizeof(numbers));
    case REFUSED:
        hr_wire_send(wire, 99, "x", 1);
        break;
    case STDOUT:
        if (write(1, "not ok from a worker\n", 21) != 21 || read(0, numbers, 1) != 0)
            _exit(1);
        break;
    }
}

static int take(uint32_t job, uint32_t kind, const uint8_t *data, size_t size, void *context)
{
    struct seen *seen = context;
    uint32_t numbers[3];
    if (kind != 1 || size != sizeof(numbers))
        return -EPROTO;
    memcpy(numbers, data, size);
    if (numbers[0] != job)
        return -EPROTO;
    seen->records[job]++;
    seen->sums[job] += numbers[1];
    return 0;
}

static void begin(uint32_t job, void *context)
{
    struct seen *seen = context;
    seen->tries[job]++;
}

static bool failed(uint32_t job, const char *reason, void *context)
{
    struct seen *seen = context;
    strcpy(seen->reason, reason);
    return ++seen->failures[job] < 2;
}

static int run_all(struct seen *seen, unsigned processes)
{
    static const uint64_t costs[JOBS] = {[3] = 1000, [7] = 5000, [11] = 1, [19] = 300};
    const struct hr_jobs jobs = {.count = JOBS,
                                 .costs = costs,
                                 .context = seen,
                                 .run = run,
                                 .take = take,
                                 .begin = begin,
                                 .failed = failed};
    /* Short only for jobs that must run into it: the machine may be busy. */
    const struct hr_worker_limits limits = {.processes = processes,
                                            .timeout_s = seen->patient ? 60 : 1,
                                            .memory_max = UINT64_C(1) << 30};
    struct hr_error err = {0};
    int r = hr_workers_run(&jobs, &limits, &err);
    /* Nobody is left behind, dead or alive. */
    CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_EQ(errno, ECHILD);
    return r;
}

/* Job 7 does what it must not; all others are done once and whole. */
static void check_only_seven_fails(enum what what, const char *reason)
{
    struct seen seen = {.what = {[7] = what}, .patient = what != HANG && what != FLOOD};
    CHECK_EQ(run_all(&seen, 3), 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        CHECK_EQ(seen.failures[i], i == 7 ? 2 : 0);
        if (i != 7)
            CHECK_EQ(seen.sums[i], 101);
    }
    CHECK_STR(seen.reason, reason);
}

TEST(all_jobs_are_done_whatever_the_number_of_processes)
{
    for (unsigned processes = 1; processes <= 40; processes += 13) {
        struct seen seen = {.patient = true};
        CHECK_EQ(run_all(&seen, processes), 0);
        for (uint32_t i = 0; i < JOBS; i++) {
            CHECK_EQ(seen.records[i], 1);
            CHECK_EQ(seen.failures[i], 0);
        }
    }
}

TEST(a_crash_costs_its_job)
{
    check_only_seven_fails(CRASH, "crashed (SIGSEGV)");
}

TEST(a_hang_costs_its_job)
{
    check_only_seven_fails(HANG, "took longer than 1 s");
}

TEST(an_early_end_is_seen)
{
    check_only_seven_fails(EXIT, "ended too early");
}

TEST(memory_has_an_end)
{
#if !defined(__SANITIZE_ADDRESS__)
    check_only_seven_fails(EAT, "ran into the memory limit");
#endif
    check_only_seven_fails(NO_MEMORY, "ran into the memory limit");
}

TEST(nonsense_on_the_pipe_is_refused)
{
    check_only_seven_fails(NONSENSE, "sent nonsense");
}

TEST(a_record_that_is_not_taken_ends_its_job)
{
    check_only_seven_fails(REFUSED, "sent nonsense");
}

TEST(a_flood_of_records_is_a_hang)
{
    check_only_seven_fails(FLOOD, "took longer than 1 s");
}

TEST(workers_reach_neither_keyboard_nor_report)
{
    struct seen seen = {.what = {[7] = STDOUT}, .patient = true};
    CHECK_EQ(run_all(&seen, 2), 0);
    CHECK_EQ(seen.failures[7], 0);
}

TEST(a_second_try_can_succeed)
{
    struct seen seen = {.what = {[3] = CRASH, [7] = HANG, [11] = CRASH}, .heal = true};
    CHECK_EQ(run_all(&seen, 2), 0);
    for (uint32_t i = 0; i < JOBS; i++) {
        bool ill = i == 3 || i == 7 || i == 11;
        CHECK_EQ(seen.failures[i], ill ? 1 : 0);
        CHECK_EQ(seen.tries[i], ill ? 2 : 1);
    }
}

TEST(every_job_may_fail)
{
    struct seen seen = {.patient = true};
    for (uint32_t i = 0; i < JOBS; i++)
        seen.what[i] = CRASH;
    CHECK_EQ(run_all(&seen, 4), 0);
    for (uint32_t i = 0; i < JOBS; i++)
        CHECK_EQ(seen.failures[i], 2);
}

TEST(closed_standard_streams_do_no_harm)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct seen seen = {.patient = true};
        for (int fd = 0; fd <= 2; fd++)
            close(fd);
        int r = run_all(&seen, 2);
        for (uint32_t i = 0; i < JOBS; i++)
            r |= seen.records[i] != 1;
        _exit(r != 0);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}

TEST(ignored_children_do_no_harm)
{
    signal(SIGCHLD, SIG_IGN);
    struct seen seen = {.what = {[7] = CRASH}, .patient = true};
    CHECK_EQ(run_all(&seen, 2), 0);
    signal(SIGCHLD, SIG_DFL);
    CHECK_EQ(seen.failures[7], 2);
    CHECK_EQ(seen.records[22], 1);
}

TEST(no_process_at_all_is_an_error)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct seen seen = {.patient = true};
        const struct rlimit none = {0, 0};
        const uint64_t costs[1] = {1};
        const struct hr_jobs jobs = {.count = 1,
                                     .costs = costs,
                                     .context = &seen,
                                     .run = run,
                                     .take = take,
                                     .begin = begin,
                                     .failed = failed};
        const struct hr_worker_limits limits = {.processes = 2, .timeout_s = 1};
        struct hr_error err = {0};
        setrlimit(RLIMIT_NOFILE, &none);
        int r = hr_workers_run(&jobs, &limits, &err);
        _exit(r == -EMFILE && err.code == -EMFILE ? 0 : 1);
    }
    int status;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK_EQ(status, 0);
}
