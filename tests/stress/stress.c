/* SPDX-License-Identifier: MIT */
/* stress.c - blocks with a checkable content, random work, a clock. */
#include "stress.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct {
    uint64_t end_ns;
    bool null_ok;
    int (*dump)(const char *reason);
} stress;

static uint64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void stress_start(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    void *dump = dlsym(RTLD_DEFAULT, "xprof_dump");

    memcpy(&stress.dump, &dump, sizeof(dump));
    stress.null_ok = getenv("STRESS_NULL_OK") != NULL;
    stress.end_ns = now_ns() + (uint64_t)(seconds * 1e9);
}

bool stress_running(void)
{
    return now_ns() < stress.end_ns;
}

void stress_fail(const char *what)
{
    (void)!write(2, "stress: ", 8);
    (void)!write(2, what, strlen(what));
    (void)!write(2, "\n", 1);
    abort();
}

void stress_dump(const char *reason)
{
    if (stress.dump)
        stress.dump(reason);
}

/* xorshift64*, seeds are small numbers. */
uint64_t stress_random(struct stress_rng *rng)
{
    uint64_t x = rng->state ? rng->state : 0x9e3779b97f4a7c15u;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    rng->state = x;
    return x * 0x2545f4914f6cdd1du;
}

size_t stress_below(struct stress_rng *rng, size_t n)
{
    return (size_t)((stress_random(rng) >> 16) % n);
}

static size_t size_for(struct stress_rng *rng, size_t size_max)
{
    size_t size, kind = stress_below(rng, 1000);

    if (kind < 800)
        size = 24 + stress_below(rng, 1000);
    else if (kind < 985)
        size = 1024 + stress_below(rng, 31000);
    else if (kind < 999)
        size = 32768 + stress_below(rng, 300007);
    else
        size = 1000003 + stress_below(rng, 4000037);
    return size < size_max ? size : 24 + size % (size_max - 24);
}

/* The body is every 8 bytes a word of key and place; what is left over, bytes of the key. Blocks of
 * many pages are written on each page's first line, or the test would measure memset. */
static uint64_t word_at(uint64_t key, size_t i)
{
    return key ^ (i * 0x9e3779b97f4a7c15u);
}

static size_t step_of(size_t size)
{
    return size > 65536 ? 512 : 1;
}

static void fill(struct stress_block *block, size_t size, uint64_t key)
{
    block->size = size;
    block->key = key;
    uint64_t *words = (uint64_t *)(block + 1);
    size_t n = (size - sizeof(*block)) / 8;
    for (size_t i = 0; i < n; i += step_of(size))
        words[i] = word_at(key, i);
    for (size_t at = sizeof(*block) + n * 8; at < size; at++)
        ((unsigned char *)block)[at] = (unsigned char)key;
}

void stress_check(const struct stress_block *block)
{
    size_t size = block->size;
    if (size < sizeof(*block) || size > 16000057)
        stress_fail("the size in a block was overwritten");
    const uint64_t *words = (const uint64_t *)(block + 1);
    size_t n = (size - sizeof(*block)) / 8;
    for (size_t i = 0; i < n; i += step_of(size)) {
        if (words[i] != word_at(block->key, i))
            stress_fail("a word in a block was overwritten");
    }
    for (size_t at = sizeof(*block) + n * 8; at < size; at++) {
        if (((const unsigned char *)block)[at] != (unsigned char)block->key)
            stress_fail("the end of a block was overwritten");
    }
}

static struct stress_block *no_memory(void)
{
    if (!stress.null_ok)
        stress_fail("no memory");
    return NULL;
}

struct stress_block *stress_alloc_max(struct stress_rng *rng, size_t size_max)
{
    size_t size = size_for(rng, size_max), align = 16;
    void *p = NULL;

    switch (stress_below(rng, 16)) {
    case 0: {
        p = calloc(1, size);
        const unsigned char *bytes = p;
        for (size_t i = 0; p && i<size; i += size> 65536 ? 4093 : 1) {
            if (bytes[i])
                stress_fail("calloc gave a block that is not zero");
        }
        break;
    }
    case 1:
        align = (size_t)16 << stress_below(rng, 9);
        if (posix_memalign(&p, align, size) != 0)
            p = NULL;
        break;
    case 2:
        align = 64;
        p = memalign(align, size);
        break;
    case 3:
        p = realloc(NULL, size);
        break;
    default:
        p = malloc(size);
    }
    if (!p)
        return no_memory();
    if ((uintptr_t)p % align != 0)
        stress_fail("a block is not aligned");
    fill(p, size, stress_random(rng));
    return p;
}

struct stress_block *stress_alloc(struct stress_rng *rng)
{
    return stress_alloc_max(rng, (size_t)-1);
}

void stress_free(struct stress_block *block)
{
    if (!block)
        return;
    stress_check(block);
    int before = errno;
    free(block);
    if (errno != before)
        stress_fail("free changed errno");
}

struct stress_block *stress_realloc(struct stress_rng *rng, struct stress_block *block)
{
    size_t size = size_for(rng, (size_t)-1);
    if (!block)
        return NULL;
    stress_check(block);
    /* What must survive is copied out first: the head and the least word count. */
    struct stress_block old = *block;
    struct stress_block *now = realloc(block, size);
    if (!now) {
        no_memory();
        stress_check(block);
        return block;
    }
    if (now->size != old.size || now->key != old.key)
        stress_fail("realloc lost the head of a block");
    size_t least = size < old.size ? size : old.size;
    const uint64_t *words = (const uint64_t *)(now + 1);
    size_t n = (least - sizeof(*now)) / 8;
    for (size_t i = 0; i < n; i += step_of(old.size)) {
        if (words[i] != word_at(old.key, i))
            stress_fail("realloc lost a word of a block");
    }
    fill(now, size, stress_random(rng));
    return now;
}

void stress_work(struct stress_rng *rng, struct stress_table *table, size_t steps)
{
    for (size_t i = 0; i < steps; i++) {
        struct stress_block **slot = &table->blocks[stress_below(rng, STRESS_TABLE)];
        switch (stress_below(rng, 8)) {
        case 0:
            *slot = stress_realloc(rng, *slot);
            break;
        case 1:
            if (*slot)
                stress_check(*slot);
            break;
        default:
            stress_free(*slot);
            *slot = stress_below(rng, 4) ? stress_alloc(rng) : NULL;
        }
    }
}

void stress_clear(struct stress_table *table)
{
    for (size_t i = 0; i < STRESS_TABLE; i++) {
        stress_free(table->blocks[i]);
        table->blocks[i] = NULL;
    }
}

void *stress_worker(void *seed)
{
    struct stress_rng rng = {(uintptr_t)seed};
    struct stress_table table = {{NULL}};

    while (stress_running())
        stress_work(&rng, &table, 101);
    stress_clear(&table);
    return NULL;
}
