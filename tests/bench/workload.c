/* SPDX-License-Identifier: MIT */
/* workload.c - arguments, clocks, threads, memory figures and the printed line of the workloads. */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 256

bool workload_time_is_up;

/* ---- arguments ---- */

static void print_usage(FILE *to, const char *program, const char *does,
                        const struct parameter *parameters, size_t count)
{
    fprintf(to, "usage: %s SECONDS", program);
    for (size_t i = 0; i < count; i++) {
        if (parameters[i].words)
            fprintf(to, " [%s=%s]", parameters[i].name, parameters[i].words);
        else
            fprintf(to, " [%s=%g]", parameters[i].name, parameters[i].value);
    }
    fprintf(to, "\n%s\n", does);
}

static void __attribute__((noreturn))
refuse(const char *program, const char *what, const char *argument)
{
    fprintf(stderr, "%s: %s: %s (--help says how)\n", program, what, argument);
    exit(2);
}

static bool read_number(const char *text, double least, double most, double *ret_value)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end || !(value >= least && value <= most))
        return false;
    *ret_value = value;
    return true;
}

static bool read_word(const char *text, const char *words, double *ret_value)
{
    size_t length = strlen(text);

    for (unsigned index = 0; *words; index++) {
        size_t word = strcspn(words, "|");
        if (word == length && memcmp(words, text, length) == 0) {
            *ret_value = index;
            return true;
        }
        words += word + (words[word] == '|');
    }
    return false;
}

static void read_parameter(const char *program, const char *argument, struct parameter *parameters,
                           size_t count)
{
    size_t length = strcspn(argument, "=");

    for (size_t i = 0; i < count; i++) {
        struct parameter *p = &parameters[i];
        if (argument[length] != '=' || strlen(p->name) != length ||
            memcmp(p->name, argument, length) != 0)
            continue;
        const char *text = argument + length + 1;
        if (p->words ? read_word(text, p->words, &p->value)
                     : read_number(text, p->least, p->most, &p->value))
            return;
        refuse(program, "out of range", argument);
    }
    refuse(program, "no such parameter", argument);
}

double workload_arguments(int argc, char **argv, const char *does, struct parameter *parameters,
                          size_t count)
{
    const char *slash = strrchr(argv[0], '/');
    const char *program = slash ? slash + 1 : argv[0];
    double seconds;

    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        print_usage(stdout, program, does, parameters, count);
        exit(0);
    }
    if (argc < 2 || !read_number(argv[1], 0.01, 3600, &seconds))
        refuse(program, "SECONDS must be from 0.01 to 3600", argc < 2 ? "none given" : argv[1]);
    for (int i = 2; i < argc; i++)
        read_parameter(program, argv[i], parameters, count);
    return seconds;
}

const char *workload_word(const struct parameter *parameter, int *ret_length)
{
    const char *word = parameter->words;

    for (unsigned i = 0; i < (unsigned)parameter->value; i++)
        word += strcspn(word, "|") + 1;
    *ret_length = (int)strcspn(word, "|");
    return word;
}

/* ---- clocks and figures ---- */

static uint64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

/* The KiB behind `key` in a file of /proc/self, in bytes; without stdio, whose buffers are
 * malloc's. */
static size_t proc_figure(const char *path, const char *key)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    const char *at = strstr(text, key);
    return at ? (size_t)strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

size_t rss_bytes(void)
{
    size_t rss = proc_figure("/proc/self/smaps_rollup", "\nRss:");
    return rss ? rss : proc_figure("/proc/self/status", "\nVmRSS:");
}

size_t peak_bytes(void)
{
    return proc_figure("/proc/self/status", "\nVmHWM:");
}

uint64_t minor_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_minflt;
}

void sleep_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

void workload_no_memory(void)
{
    static const char text[] = "the allocator has no memory\n";
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(1);
}

void *workload_table(size_t bytes)
{
    void *table = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (table == MAP_FAILED)
        workload_no_memory();
    return table;
}

/* ---- threads ---- */

static struct {
    struct worker worker[THREADS_MAX];
    pthread_t thread[THREADS_MAX];
    pthread_barrier_t ready;
    void (*work)(struct worker *self);
} run;

static void on_time_is_up(int signal)
{
    (void)signal;
    __atomic_store_n(&workload_time_is_up, true, __ATOMIC_RELAXED);
}

static void *thread_main(void *argument)
{
    pthread_barrier_wait(&run.ready);
    run.work(argument);
    return NULL;
}

static void start_timer(double seconds)
{
    struct sigaction action = {.sa_handler = on_time_is_up, .sa_flags = SA_RESTART};
    struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)((seconds - (time_t)seconds) * 1e6)}};

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
}

void workload_run(unsigned count, double seconds, void (*work)(struct worker *self), void *shared,
                  struct measured *ret_measured)
{
    struct measured measured;
    uint64_t start_ns, end_ns = 0, operations = 0;

    if (count > THREADS_MAX)
        count = THREADS_MAX;
    run.work = work;
    for (unsigned i = 0; i < count; i++)
        run.worker[i] = (struct worker){
            .index = i, .random = (i + 1) * UINT64_C(0x9e3779b97f4a7c15), .shared = shared};
    if (count > 1)
        pthread_barrier_init(&run.ready, NULL, count + 1);
    for (unsigned i = 0; count > 1 && i < count; i++) {
        if (pthread_create(&run.thread[i], NULL, thread_main, &run.worker[i]) != 0)
            workload_no_memory();
    }

    measure_begin(&measured);
    start_ns = clock_ns();
    start_timer(seconds);
    if (count == 1) {
        work(&run.worker[0]);
    } else {
        pthread_barrier_wait(&run.ready);
        for (unsigned i = 0; i < count; i++)
            pthread_join(run.thread[i], NULL);
        pthread_barrier_destroy(&run.ready);
    }
    for (unsigned i = 0; i < count; i++) {
        operations += run.worker[i].operations;
        if (run.worker[i].end_ns > end_ns)
            end_ns = run.worker[i].end_ns;
    }
    measure_end(&measured, operations);
    measured.seconds = (double)(end_ns - start_ns) / 1e9;
    *ret_measured = measured;
}

/* While it runs, the fields hold the readings at the start. */
void measure_begin(struct measured *measured)
{
    measured->faults = minor_faults();
    measured->cpu_seconds = (double)cpu_ns() / 1e9;
    measured->seconds = (double)clock_ns() / 1e9;
}

void measure_end(struct measured *measured, uint64_t operations)
{
    measured->seconds = (double)clock_ns() / 1e9 - measured->seconds;
    measured->cpu_seconds = (double)cpu_ns() / 1e9 - measured->cpu_seconds;
    measured->faults = minor_faults() - measured->faults;
    measured->operations = operations;
}

void light_work(double seconds)
{
    static void *slot[300];
    static uint64_t random = 2027;
    static unsigned at;
    uint64_t end_ns = clock_ns() + (uint64_t)(seconds * 1e9);

    while (clock_ns() < end_ns) {
        for (int i = 0; i < 30; i++, at = (at + 1) % 300) {
            free(slot[at]);
            char *block = malloc(16 + random_below(&random, 2000));
            if (!block)
                workload_no_memory();
            block[0] = 1;
            slot[at] = block;
        }
        sleep_ns(10000000);
    }
}

/* ---- the line ---- */

void print_begin(const char *name, double value, const char *unit, const struct measured *measured)
{
    size_t rss = rss_bytes(), peak = peak_bytes();

    printf("%s %.6g %s", name, value, unit);
    if (measured) {
        print_key("ops", (double)measured->operations);
        print_key("seconds", measured->seconds);
        print_key("cpu_s", measured->cpu_seconds);
        print_key("faults", (double)measured->faults);
    }
    print_key("rss_mib", (double)rss / 1048576);
    print_key("peak_mib", (double)peak / 1048576);
}

void print_key(const char *key, double value)
{
    printf(" %s=%.8g", key, value);
}

void print_end(void)
{
    printf("\n");
    if (fflush(stdout) != 0)
        exit(1);
}
