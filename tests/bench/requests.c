/* SPDX-License-Identifier: MIT */
/* requests.c - eight workers parse a small document per request and write an answer.
 *
 * A request is about 14 allocations: the nodes, keys and texts of a document, the answer that grows
 * with realloc, and its place in a cache that all workers share, whose old answer is freed by
 * whoever replaces it. Between groups of requests a worker gives up its core, as one that waits for
 * the next does, so that the slowest requests are the allocator's and not the scheduler's. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload.h"

enum { WORKERS };

#define DOCUMENTS     64u
#define DOCUMENT_SIZE 512u
#define CACHED        4096u
#define GROUP         16u
/* Latencies are counted in buckets of 1/32 of a power of two of nanoseconds. */
#define BUCKET_BITS 5
#define BUCKETS     (64u << BUCKET_BITS)

static struct parameter parameters[] = {
    [WORKERS] = {"workers", 8, 1, 256, NULL},
};

struct node {
    struct node *next;
    struct node *child; /* of a list */
    char *key;
    char *text;
    long number;
};

static struct {
    char (*document)[DOCUMENT_SIZE];
    char **cached;
    uint32_t (*bucket)[BUCKETS]; /* of each worker */
} site;

static void *allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        workload_no_memory();
    return block;
}

/* "text" at *at: a copy, and *at behind it. */
static char *parse_text(const char **at)
{
    const char *start = ++*at;
    size_t length = strcspn(start, "\"");
    char *text = allocate(length + 1);

    memcpy(text, start, length);
    text[length] = '\0';
    *at = start + length + 1;
    return text;
}

static struct node *parse_members(const char **at, char end);

static struct node *parse_value(const char **at, char *key)
{
    struct node *node = allocate(sizeof(*node));

    *node = (struct node){.key = key};
    if (**at == '"') {
        node->text = parse_text(at);
    } else if (**at == '{' || **at == '[') {
        char end = **at == '{' ? '}' : ']';
        ++*at;
        node->child = parse_members(at, end);
    } else {
        char *after;
        node->number = strtol(*at, &after, 10);
        *at = after;
    }
    return node;
}

static struct node *parse_members(const char **at, char end)
{
    struct node *first = NULL, **last = &first;

    while (**at != end) {
        char *key = NULL;
        if (end == '}') {
            key = parse_text(at);
            ++*at; /* the colon */
        }
        *last = parse_value(at, key);
        last = &(*last)->next;
        if (**at == ',')
            ++*at;
    }
    ++*at;
    return first;
}

struct answer {
    char *text;
    size_t length, size;
};

static void append(struct answer *answer, const char *text, size_t length)
{
    if (answer->length + length + 1 > answer->size) {
        answer->size = (answer->length + length + 1) * 2;
        if (answer->size < 128)
            answer->size = 128;
        answer->text = realloc(answer->text, answer->size);
        if (!answer->text)
            workload_no_memory();
    }
    memcpy(answer->text + answer->length, text, length);
    answer->length += length;
}

static void write_node(struct answer *answer, const struct node *node)
{
    char digits[24];

    for (; node; node = node->next) {
        if (node->key) {
            append(answer, node->key, strlen(node->key));
            append(answer, "=", 1);
        }
        if (node->text) {
            append(answer, node->text, strlen(node->text));
        } else if (node->child) {
            write_node(answer, node->child);
        } else {
            unsigned at = sizeof(digits);
            long number = node->number;
            do
                digits[--at] = (char)('0' + number % 10);
            while ((number /= 10) > 0);
            append(answer, digits + at, sizeof(digits) - at);
        }
        append(answer, ";", 1);
    }
}

static void destroy(struct node *node)
{
    while (node) {
        struct node *next = node->next;
        destroy(node->child);
        free(node->key);
        free(node->text);
        free(node);
        node = next;
    }
}

static void serve(uint64_t *random)
{
    const char *at = site.document[random_below(random, DOCUMENTS)];
    struct node *root = parse_value(&at, NULL);
    struct answer answer = {NULL, 0, 0};

    write_node(&answer, root);
    destroy(root);
    free(__atomic_exchange_n(&site.cached[random_below(random, CACHED)], answer.text,
                             __ATOMIC_ACQ_REL));
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned power = 63u - (unsigned)__builtin_clzll(ns | (1u << BUCKET_BITS));
    return ((power - BUCKET_BITS) << BUCKET_BITS) + (unsigned)(ns >> (power - BUCKET_BITS));
}

/* Its lower end. */
static double bucket_ns(unsigned bucket)
{
    unsigned power = bucket >> BUCKET_BITS, step = bucket & ((1u << BUCKET_BITS) - 1);
    if (power == 0)
        return step;
    return (double)((1u << BUCKET_BITS) + step) * (double)(1ull << (power - 1));
}

static void work(struct worker *self)
{
    uint32_t *bucket = site.bucket[self->index];
    uint64_t operations = 0;

    while (worker_goes_on()) {
        for (unsigned i = 0; i < GROUP; i++, operations++) {
            uint64_t start_ns = clock_ns();
            serve(&self->random);
            bucket[bucket_of(clock_ns() - start_ns)]++;
        }
        sched_yield();
    }
    worker_done(self, operations);
}

static void write_documents(void)
{
    static const char letters[] =
        "the quick brown fox jumps over the lazy dog and then some more; ";
    uint64_t random = 31;

    for (unsigned i = 0; i < DOCUMENTS; i++)
        snprintf(site.document[i], DOCUMENT_SIZE,
                 "{\"id\":%u,\"user\":\"%.*s\",\"tags\":[\"%.*s\",\"%.*s\"],\"note\":\"%.*s\"}",
                 random_next(&random), 4 + (int)random_below(&random, 12), letters,
                 3 + (int)random_below(&random, 9), letters, 3 + (int)random_below(&random, 30),
                 letters, 16 + (int)random_below(&random, 48), letters);
}

static double percentile_us(const uint64_t *sum, uint64_t total, double part)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += sum[i];
        if ((double)seen >= part * (double)total)
            return bucket_ns(i) / 1000;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct measured measured;
    double seconds = workload_arguments(
        argc, argv, "Parses a document of 14 allocations per request and writes an answer.",
        parameters, sizeof(parameters) / sizeof(parameters[0]));
    unsigned workers = (unsigned)parameters[WORKERS].value;

    site.document = workload_table(DOCUMENTS * sizeof(*site.document));
    site.cached = workload_table(CACHED * sizeof(*site.cached));
    site.bucket = workload_table(workers * sizeof(*site.bucket));
    uint64_t *sum = workload_table(BUCKETS * sizeof(*sum));
    write_documents();
    workload_run(workers, seconds, work, NULL, &measured);

    for (unsigned w = 0; w < workers; w++) {
        for (unsigned i = 0; i < BUCKETS; i++)
            sum[i] += site.bucket[w][i];
    }
    print_begin("requests", measured_rate(&measured, 1e3), "kreq/s", &measured);
    print_key("p50_us", percentile_us(sum, measured.operations, 0.5));
    print_key("p99_us", percentile_us(sum, measured.operations, 0.99));
    print_key("p999_us", percentile_us(sum, measured.operations, 0.999));
    print_key("p9999_us", percentile_us(sum, measured.operations, 0.9999));
    print_end();
    return 0;
}
