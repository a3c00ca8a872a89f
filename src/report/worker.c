/* SPDX-License-Identifier: MIT */
/* worker.c - forks workers, reads their records, ends those that overstay. */
#include "report/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROCESSES_MAX 64u
#define WIRE_BUFFER   (64u << 10)
#define FRAME_MAGIC   0x7872u

#define EXIT_NO_MEMORY 75

enum frame { FRAME_BEGIN, FRAME_RECORD, FRAME_END };

struct frame_head {
    uint16_t magic;
    uint16_t frame;
    uint32_t job;
    uint32_t kind;
    uint32_t size; /* of what follows */
};

/* ---- in the worker ---- */

struct hr_wire {
    int fd;
    uint32_t job;
    size_t used;
    uint8_t buffer[WIRE_BUFFER];
};

static void write_all(int fd, const uint8_t *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            _exit(1); /* the parent is gone or gave up on us */
        data += n;
        size -= (size_t)n;
    }
}

static void wire_flush(struct hr_wire *wire)
{
    write_all(wire->fd, wire->buffer, wire->used);
    wire->used = 0;
}

static void wire_put(struct hr_wire *wire, const void *data, size_t size)
{
    if (size > sizeof(wire->buffer) - wire->used)
        wire_flush(wire);
    if (size > sizeof(wire->buffer)) {
        write_all(wire->fd, data, size);
        return;
    }
    if (size)
        memcpy(wire->buffer + wire->used, data, size);
    wire->used += size;
}

static void send_frame(struct hr_wire *wire, enum frame frame, uint32_t kind, const void *data,
                       size_t size)
{
    const struct frame_head head = {.magic = FRAME_MAGIC,
                                    .frame = (uint16_t)frame,
                                    .job = wire->job,
                                    .kind = kind,
                                    .size = (uint32_t)size};
    wire_put(wire, &head, sizeof(head));
    wire_put(wire, data, size);
}

void hr_wire_send(struct hr_wire *wire, uint32_t kind, const void *data, size_t size)
{
    send_frame(wire, FRAME_RECORD, kind, data, size);
}

_Noreturn void hr_worker_out_of_memory(void)
{
    _exit(EXIT_NO_MEMORY);
}

static void limit(int resource, uint64_t value)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)resource, &now) < 0)
        return;
    if (now.rlim_max != RLIM_INFINITY && now.rlim_max < value)
        value = now.rlim_max;
    const struct rlimit set = {.rlim_cur = value, .rlim_max = value};
    setrlimit((__rlimit_resource_t)resource, &set);
}

/* A parser that went wrong must not write into the report, read the user's keys or leave a core
 * file; and it must not survive us. */
static void become_worker(pid_t parent, uint32_t jobs, const struct hr_worker_limits *limits)
{
    static const int signals[] = {SIGABRT, SIGALRM, SIGBUS,  SIGFPE,  SIGHUP,  SIGILL,
                                  SIGINT,  SIGPIPE, SIGSEGV, SIGTERM, SIGTRAP, SIGXCPU};
    for (size_t i = 0; i < XP_ARRAY_LENGTH(signals); i++)
        signal(signals[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (uint64_t)limits->timeout_s * jobs + 1);
#if !defined(__SANITIZE_ADDRESS__) /* its shadow takes terabytes of address space */
    if (limits->memory_max)
        limit(RLIMIT_AS, limits->memory_max);
#endif
}

/* ---- in the parent ---- */

struct worker {
    pid_t pid; /* 0: free */
    int fd;
    uint32_t *batch; /* jobs in order */
    uint32_t batch_count;
    uint32_t done; /* jobs of the batch that have ended */
    bool in_job;   /* batch[done] has begun */
    uint64_t deadline_ms;
    uint8_t *data; /* bytes received, not yet taken */
    size_t size, room;
};

struct run {
    const struct hr_jobs *jobs;
    const struct hr_worker_limits *limits;
    struct hr_error *err;
    uint32_t *queue; /* jobs to do: dear ones first */
    uint32_t queue_count;
    uint64_t batch_cost; /* jobs up to this sum share a process */
    struct worker workers[PROCESSES_MAX];
    unsigned busy;
};

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static _Noreturn void work(struct run *run, struct worker *worker, int fd, pid_t parent)
{
    become_worker(parent, worker->batch_count, run->limits);
    static struct hr_wire wire;
    wire.fd = fd;
    for (uint32_t i = 0; i < worker->batch_count; i++) {
        wire.job = worker->batch[i];
        send_frame(&wire, FRAME_BEGIN, 0, NULL, 0);
        wire_flush(&wire); /* so that a crash is charged to the right job */
        run->jobs->run(&wire, worker->batch[i], run->jobs->context);
        send_frame(&wire, FRAME_END, 0, NULL, 0);
    }
    wire_flush(&wire);
    _exit(0);
}

/* Pipe ends 0 to 2 would be lost to become_worker when the tool itself was started without them. */
static int pipe_above_stdio(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    for (int i = 0; i < 2; i++) {
        if (fds[i] > 2)
            continue;
        int moved = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
        int r = moved < 0 ? -errno : 0;
        close(fds[i]);
        fds[i] = moved;
        if (r < 0) {
            close(fds[1 - i]);
            return r;
        }
    }
    return 0;
}

static int start(struct run *run, struct worker *worker)
{
    uint32_t count = 0;
    uint64_t cost = 0;
    do
        cost += run->jobs->costs[run->queue[run->queue_count - 1 - count++]];
    while (count < run->queue_count &&
           cost + run->jobs->costs[run->queue[run->queue_count - 1 - count]] <= run->batch_cost);

    *worker = (struct worker){.batch_count = count};
    worker->batch = malloc(count * sizeof(*worker->batch));
    if (!worker->batch)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        worker->batch[i] = run->queue[run->queue_count - 1 - i];
    int fds[2];
    int r = pipe_above_stdio(fds);
    if (r < 0)
        goto fail;
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        work(run, worker, fds[1], parent);
    }
    r = pid < 0 ? -errno : 0;
    close(fds[1]);
    if (r < 0) {
        close(fds[0]);
        goto fail;
    }
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    worker->pid = pid;
    worker->fd = fds[0];
    worker->deadline_ms = now_ms() + (uint64_t)run->limits->timeout_s * 1000;
    run->queue_count -= count;
    run->busy++;
    return 0;
fail:
    free(worker->batch);
    *worker = (struct worker){0};
    return r;
}

static void describe_status(pid_t waited, int status, char *text, size_t size)
{
    if (waited > 0 && WIFSIGNALED(status)) {
        const char *name = sigabbrev_np(WTERMSIG(status));
        if (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL)
            snprintf(text, size, "was ended (SIG%s)", name ? name : "?");
        else
            snprintf(text, size, "crashed (SIG%s)", name ? name : "?");
    } else if (waited > 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_MEMORY) {
        snprintf(text, size, "ran into the memory limit");
    } else {
        snprintf(text, size, "ended too early");
    }
}

/* Ends and waits for the process; what it had not done goes back to the queue. reason NULL: take
 * it from the wait status. */
static void finish(struct run *run, struct worker *worker, const char *reason)
{
    if (reason)
        kill(worker->pid, SIGKILL);
    close(worker->fd);
    int status = 0;
    pid_t waited;
    do
        waited = waitpid(worker->pid, &status, 0);
    while (waited < 0 && errno == EINTR);

    uint32_t left = worker->done;
    if (left < worker->batch_count) {
        char text[64];
        if (!reason)
            describe_status(waited, status, text, sizeof(text));
        uint32_t job = worker->batch[left++];
        bool again = run->jobs->failed(job, reason ? reason : text, run->jobs->context);
        while (left < worker->batch_count)
            run->queue[run->queue_count++] = worker->batch[left++];
        if (again)
            run->queue[run->queue_count++] = job;
    }
    free(worker->batch);
    free(worker->data);
    *worker = (struct worker){0};
    run->busy--;
}

/* One whole frame at data? Takes it. 0, or negative when it makes no sense. */
static int take_frame(struct run *run, struct worker *worker, const struct frame_head *head,
                      const uint8_t *data)
{
    if (worker->done >= worker->batch_count || head->job != worker->batch[worker->done])
        return -EPROTO;
    switch (head->frame) {
    case FRAME_BEGIN:
        if (worker->in_job || head->size != 0)
            return -EPROTO;
        worker->in_job = true;
        worker->deadline_ms = now_ms() + (uint64_t)run->limits->timeout_s * 1000;
        run->jobs->begin(head->job, run->jobs->context);
        return 0;
    case FRAME_RECORD:
        if (!worker->in_job)
            return -EPROTO;
        return run->jobs->take(head->job, head->kind, data, head->size, run->jobs->context);
    case FRAME_END:
        if (!worker->in_job || head->size != 0)
            return -EPROTO;
        worker->in_job = false;
        worker->done++;
        worker->deadline_ms = now_ms() + (uint64_t)run->limits->timeout_s * 1000;
        return 0;
    default:
        return -EPROTO;
    }
}

static int take_frames(struct run *run, struct worker *worker)
{
    size_t at = 0;
    int r = 0;
    while (r == 0 && worker->size - at >= sizeof(struct frame_head)) {
        struct frame_head head;
        memcpy(&head, worker->data + at, sizeof(head));
        if (head.magic != FRAME_MAGIC || head.size > HR_RECORD_MAX)
            return -EPROTO;
        if (worker->size - at - sizeof(head) < head.size)
            break;
        r = take_frame(run, worker, &head, worker->data + at + sizeof(head));
        at += sizeof(head) + head.size;
    }
    memmove(worker->data, worker->data + at, worker->size - at);
    worker->size -= at;
    return r;
}

static int receive(struct run *run, struct worker *worker)
{
    for (;;) {
        if (worker->room - worker->size < WIRE_BUFFER) {
            /* A frame is at most HR_RECORD_MAX, so this ends at about twice that. */
            size_t room = worker->room ? worker->room * 2 : 2 * WIRE_BUFFER;
            uint8_t *data = realloc(worker->data, room);
            if (!data)
                return -ENOMEM;
            worker->data = data;
            worker->room = room;
        }
        ssize_t n = read(worker->fd, worker->data + worker->size, worker->room - worker->size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n < 0)
            return -errno;
        if (n == 0) {
            finish(run, worker, NULL);
            return 0;
        }
        worker->size += (size_t)n;
        int r = take_frames(run, worker);
        if (r < 0)
            return r;
        if (now_ms() >= worker->deadline_ms)
            return 0; /* the loop ends it; a flood of records is a hang too */
    }
}

static void wait_for_records(struct run *run)
{
    struct pollfd polls[PROCESSES_MAX];
    struct worker *of[PROCESSES_MAX];
    nfds_t count = 0;
    uint64_t now = now_ms(), first = UINT64_MAX;
    for (unsigned i = 0; i < run->limits->processes; i++) {
        struct worker *worker = &run->workers[i];
        if (!worker->pid)
            continue;
        if (worker->deadline_ms < first)
            first = worker->deadline_ms;
        polls[count] = (struct pollfd){.fd = worker->fd, .events = POLLIN};
        of[count++] = worker;
    }
    uint64_t wait = first > now ? first - now : 0;
    if (poll(polls, count, wait > 60000 ? 60000 : (int)wait) < 0)
        return;
    now = now_ms();
    for (nfds_t i = 0; i < count; i++) {
        int r = polls[i].revents ? receive(run, of[i]) : 0;
        if (r < 0) {
            finish(run, of[i], r == -ENOMEM ? "ran into the memory limit" : "sent nonsense");
        } else if (of[i]->pid && now >= of[i]->deadline_ms) {
            char text[64];
            snprintf(text, sizeof(text), "took longer than %u s", run->limits->timeout_s);
            finish(run, of[i], text);
        }
    }
}

static void sort_queue(struct run *run)
{
    /* Insertion by cost, cheap first: taken from the end, so that the dearest starts first. */
    const uint64_t *costs = run->jobs->costs;
    for (uint32_t i = 0; i < run->jobs->count; i++) {
        uint32_t at = i;
        while (at > 0 && costs[run->queue[at - 1]] > costs[i]) {
            run->queue[at] = run->queue[at - 1];
            at--;
        }
        run->queue[at] = i;
    }
    run->queue_count = run->jobs->count;
}

static uint64_t fair_share(const struct hr_jobs *jobs, unsigned processes)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < jobs->count; i++)
        sum += jobs->costs[i];
    return sum / (2 * processes);
}

int hr_workers_run(const struct hr_jobs *jobs, const struct hr_worker_limits *limits,
                   struct hr_error *err)
{
    if (jobs->count == 0)
        return 0;
    struct hr_worker_limits checked = *limits;
    if (checked.processes < 1)
        checked.processes = 1;
    if (checked.processes > PROCESSES_MAX)
        checked.processes = PROCESSES_MAX;
    struct run *run = calloc(1, sizeof(*run));
    if (!run)
        return hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    *run = (struct run){.jobs = jobs,
                        .limits = &checked,
                        .err = err,
                        .batch_cost = fair_share(jobs, checked.processes)};
    run->queue = malloc(jobs->count * sizeof(*run->queue));
    int r = run->queue ? 0 : hr_error_set(err, -ENOMEM, "", 0, "out of memory");
    if (r == 0)
        sort_queue(run);
    while (r == 0 && (run->queue_count > 0 || run->busy > 0)) {
        for (unsigned i = 0; i < checked.processes && run->queue_count > 0; i++) {
            if (run->workers[i].pid)
                continue;
            r = start(run, &run->workers[i]);
            if (r < 0)
                break;
        }
        /* Short of processes: go on with those that run, and only give up without any. */
        if (r < 0 && run->busy == 0)
            r = hr_error_set(err, r, "", 0, "cannot start a worker process: %s", strerror(-r));
        else
            r = 0;
        if (r == 0)
            wait_for_records(run);
    }
    free(run->queue);
    free(run);
    return r;
}
