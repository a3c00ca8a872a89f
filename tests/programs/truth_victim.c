/* SPDX-License-Identifier: MIT */
/* truth_victim.c - allocates known amounts at known sites and prints the truth about them.
 *
 * usage: truth_victim MEBIBYTES DISTANCE
 *
 * About MEBIBYTES are live at each site at the end, at least as much was freed again. One line per
 * group, that is the blocks of one size at one site: name of the site, size, chance of a block to
 * be sampled at a mean DISTANCE, objects in use, objects allocated. Sites are functions of this
 * program that call the allocator directly, each called from one place. What the draws of a run
 * depend on is the same in every run: threads meet at barriers, so that a fixed seed gives fixed
 * samples. */
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MIB 1048576.0

/* Neither inlined nor copied for one caller: one function, one place. */
#if __has_attribute(noipa)
#define OPAQUE __attribute__((noipa))
#else
#define OPAQUE __attribute__((noinline))
#endif

/* operator new; there under the library, else absent. */
extern void *_Znwm(size_t size) __attribute__((weak));

enum site {
    MALLOC_MIXED,
    MALLOC_SPREAD,
    MALLOC_SMALL,
    MALLOC_MEDIUM,
    MALLOC_LARGE,
    CALLOC,
    REALLOC_FROM,
    REALLOC_TO,
    PAGES_FROM,
    PAGES_TO,
    ALIGNED,
    OPERATOR_NEW,
    THREADS_SHORT,
    THREADS_EXCHANGE,
    SITES
};

/* The sizes of a site are few. */
enum { GROUPS = 16 };

struct group {
    size_t size;
    double chance;
    uint64_t inuse, allocated;
};

static struct {
    const char *name;
    struct group groups[GROUPS];
} truth[SITES] = {
    [MALLOC_MIXED] = {.name = "site_malloc_mixed"},
    [MALLOC_SPREAD] = {.name = "site_malloc_spread"},
    [MALLOC_SMALL] = {.name = "site_malloc_small"},
    [MALLOC_MEDIUM] = {.name = "site_malloc_medium"},
    [MALLOC_LARGE] = {.name = "site_malloc_large"},
    [CALLOC] = {.name = "site_calloc"},
    [REALLOC_FROM] = {.name = "site_realloc_from"},
    [REALLOC_TO] = {.name = "site_realloc_to"},
    [PAGES_FROM] = {.name = "site_pages_from"},
    [PAGES_TO] = {.name = "site_pages_to"},
    [ALIGNED] = {.name = "site_aligned"},
    [OPERATOR_NEW] = {.name = "site_operator_new"},
    [THREADS_SHORT] = {.name = "site_threads_short"},
    [THREADS_EXCHANGE] = {.name = "site_threads_exchange"},
};
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static double distance;
static double mebibytes;

/* A site returns what the allocator gave. The asm keeps the call from becoming a jump, and its text
 * keeps the compiler from making one function out of sites that look the same. */
#define SITE(name, call)                                                                           \
    OPAQUE static void *name(void *old, size_t size)                                               \
    {                                                                                              \
        void *p = ((void)old, (call));                                                             \
        __asm__ volatile("# " #name : "+r"(p) : : "memory");                                       \
        if (!p)                                                                                    \
            abort();                                                                               \
        return p;                                                                                  \
    }

SITE(site_malloc_mixed, malloc(size))
SITE(site_malloc_spread, malloc(size))
SITE(site_malloc_small, malloc(size))
SITE(site_malloc_medium, malloc(size))
SITE(site_malloc_large, malloc(size))
SITE(site_calloc, calloc(1, size))
SITE(site_realloc_from, malloc(size))
SITE(site_realloc_to, realloc(old, size))
SITE(site_pages_from, malloc(size))
SITE(site_pages_to, realloc(old, size))
SITE(site_operator_new, _Znwm(size))
SITE(site_threads_short, malloc(size))
SITE(site_threads_exchange, malloc(size))

OPAQUE static void *site_aligned(void *old, size_t size)
{
    void *p = NULL;
    switch (size & 3) {
    case 0:
        p = memalign(64, size);
        break;
    case 1:
        if (posix_memalign(&p, 256, size) != 0)
            abort();
        break;
    default:
        p = aligned_alloc(4096, size);
    }
    __asm__ volatile("" : "+r"(p) : "r"(old) : "memory");
    if (!p)
        abort();
    return p;
}

typedef void *(*site_fn)(void *old, size_t size);

/* The chance that the allocation is sampled, by the room it takes. Asked of blocks of its own,
 * before the sites run: asking for the room of a block may change what is recorded of it. */
static double chance(size_t size, size_t align)
{
    enum { SLOTS = 4096 };
    static struct {
        size_t size, align;
        double chance;
    } known[SLOTS];
    size_t at = (size * 31 + align) % SLOTS;

    while (known[at].size && (known[at].size != size || known[at].align != align))
        at = (at + 1) % SLOTS;
    if (!known[at].size) {
        void *p = align ? memalign(align, size) : malloc(size);
        known[at].size = size;
        known[at].align = align;
        known[at].chance = -expm1(-(double)malloc_usable_size(p) / distance);
        free(p);
    }
    return known[at].chance;
}

static size_t align_of(enum site site, size_t size)
{
    static const size_t aligns[4] = {64, 256, 4096, 4096};
    return site == ALIGNED ? aligns[size & 3] : 0;
}

static struct group *group_of(enum site site, size_t size)
{
    struct group *group = truth[site].groups;

    while (group->size && group->size != size) {
        if (++group == truth[site].groups + GROUPS)
            abort();
    }
    if (!group->size) {
        group->size = size;
        group->chance = chance(size, align_of(site, size));
    }
    return group;
}

static void note(enum site site, size_t size, int allocated, int inuse)
{
    pthread_mutex_lock(&truth_lock);
    struct group *group = group_of(site, size);
    group->allocated += (uint64_t)(int64_t)allocated;
    group->inuse += (uint64_t)(int64_t)inuse;
    pthread_mutex_unlock(&truth_lock);
}

static void note_alloc(enum site site, size_t size)
{
    note(site, size, 1, 1);
}

static void note_free(enum site site, size_t size)
{
    note(site, size, 0, -1);
}

struct block {
    void *p;
    size_t size;
};

/* Tables of blocks are not the allocator's. */
static struct block *table(size_t length)
{
    void *p = mmap(NULL, length * sizeof(struct block), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

/* Allocates until twice the wanted bytes were handed out; every second block is freed again after
 * the next few, so that lists are used out of order. */
static void plain(enum site site, site_fn fn, size_t (*size_of)(size_t i), double times)
{
    enum { WINDOW = 7 };
    struct block window[WINDOW] = {{NULL, 0}};
    double bytes = 0;

    for (size_t i = 0; bytes < 2 * times * mebibytes * MIB; i++) {
        size_t size = size_of(i);
        struct block *b = &window[i % WINDOW];
        if (b->p && i % 2 == 0) {
            free(b->p);
            note_free(site, b->size);
        }
        b->p = fn(NULL, size);
        b->size = size;
        note_alloc(site, size);
        bytes += (double)size;
    }
}

static size_t size_mixed(size_t i)
{
    static const size_t sizes[] = {23, 101, 47, 1009, 5003, 211, 16, 20011, 503, 72};
    return sizes[i * 7 % 10];
}

/* Sizes so far apart that few of the small ones are sampled make the number of objects uncertain
 * whatever the number of samples; these are near enough. */
static size_t size_spread(size_t i)
{
    static const size_t sizes[] = {503, 2003, 701, 3001, 1009};
    return sizes[i * 3 % 5];
}

static size_t size_small(size_t i)
{
    return 101 + i % 3;
}

static size_t size_medium(size_t i)
{
    return 5003 + i % 5 * 1009;
}

static size_t size_large(size_t i)
{
    return 300007 + i % 3 * 100003;
}

static size_t size_calloc(size_t i)
{
    return i % 4 == 0 ? 3001 : 307;
}

static size_t size_aligned(size_t i)
{
    return 1001 + i % 4;
}

static size_t size_new(size_t i)
{
    return 211 + i % 2 * 600;
}

/* Grown past its class twice: each step is an allocation of its own at the site of realloc. */
static void reallocs(void)
{
    double bytes = 0;

    for (size_t i = 0; bytes < mebibytes * MIB; i++) {
        size_t first = 211, second = 701, third = 3001;
        void *p = site_realloc_from(NULL, first);
        note_alloc(REALLOC_FROM, first);
        p = site_realloc_to(p, second);
        note_free(REALLOC_FROM, first);
        note_alloc(REALLOC_TO, second);
        if (i % 2) {
            p = site_realloc_to(p, third);
            note_free(REALLOC_TO, second);
            note_alloc(REALLOC_TO, third);
            bytes += (double)third;
        }
        if (i % 5 == 0) {
            free(p);
            note_free(REALLOC_TO, i % 2 ? third : second);
        }
    }
}

/* Large blocks that grow by pages. */
static void reallocs_of_pages(void)
{
    double bytes = 0;

    while (bytes < 2 * mebibytes * MIB) {
        size_t first = 300007, second = 500009;
        void *p = site_pages_from(NULL, first);
        note_alloc(PAGES_FROM, first);
        p = site_pages_to(p, second);
        note_free(PAGES_FROM, first);
        note_alloc(PAGES_TO, second);
        bytes += (double)second;
        (void)p;
    }
}

struct thread_work {
    pthread_t thread;
    struct block *blocks;
    size_t count;
    struct thread_work *neighbour;
};

static void *short_thread(void *arg)
{
    struct thread_work *work = arg;

    for (size_t i = 0; i < work->count; i++) {
        size_t size = size_spread(i);
        work->blocks[i] = (struct block){site_threads_short(NULL, size), size};
        note_alloc(THREADS_SHORT, size);
        if (i % 4 == 3) {
            free(work->blocks[i].p);
            note_free(THREADS_SHORT, size);
            work->blocks[i].p = NULL;
        }
    }
    return NULL;
}

/* One thread after the other; what each leaves behind is half freed by the main thread. */
static void short_threads(void)
{
    enum { THREADS = 64 };
    /* About 1.4 KiB a block; a quarter goes at once, a third of the rest later. */
    size_t count = (size_t)(3.4 * mebibytes * MIB / 1443 / THREADS);
    struct thread_work work = {.blocks = table(count), .count = count};

    for (int t = 0; t < THREADS; t++) {
        if (pthread_create(&work.thread, NULL, short_thread, &work) != 0)
            abort();
        pthread_join(work.thread, NULL);
        for (size_t i = 0; i < count; i++) {
            if (i % 3 == 0 && work.blocks[i].p) {
                free(work.blocks[i].p);
                note_free(THREADS_SHORT, work.blocks[i].size);
            }
        }
    }
}

enum { EXCHANGERS = 4 };
static pthread_barrier_t exchange_barrier;

static void *exchange_thread(void *arg)
{
    struct thread_work *work = arg;

    for (int round = 0; round < 2; round++) {
        struct block *mine = work->blocks + (size_t)round * work->count;
        for (size_t i = 0; i < work->count; i++) {
            size_t size = i % 3 ? 503 : 2003;
            mine[i] = (struct block){site_threads_exchange(NULL, size), size};
            note_alloc(THREADS_EXCHANGE, size);
        }
        pthread_barrier_wait(&exchange_barrier);
        struct block *theirs = work->neighbour->blocks + (size_t)round * work->count;
        for (size_t i = 0; i < work->count; i += 2) {
            free(theirs[i].p);
            note_free(THREADS_EXCHANGE, theirs[i].size);
        }
        pthread_barrier_wait(&exchange_barrier);
    }
    return NULL;
}

/* Threads at the same time, each of which frees what its neighbour allocated. */
static void exchanging_threads(void)
{
    struct thread_work work[EXCHANGERS];
    size_t count = (size_t)(mebibytes * MIB / 1003 / EXCHANGERS);

    pthread_barrier_init(&exchange_barrier, NULL, EXCHANGERS);
    for (int t = 0; t < EXCHANGERS; t++) {
        work[t].blocks = table(2 * count);
        work[t].count = count;
        work[t].neighbour = &work[(t + 1) % EXCHANGERS];
    }
    for (int t = 0; t < EXCHANGERS; t++) {
        if (pthread_create(&work[t].thread, NULL, exchange_thread, &work[t]) != 0)
            abort();
    }
    for (int t = 0; t < EXCHANGERS; t++)
        pthread_join(work[t].thread, NULL);
}

static void print_site(enum site site)
{
    for (const struct group *group = truth[site].groups;
         group < truth[site].groups + GROUPS && group->size; group++)
        printf("%s %zu %.17g %llu %llu\n", truth[site].name, group->size,
               distance > 1 ? group->chance : 1, (unsigned long long)group->inuse,
               (unsigned long long)group->allocated);
}

int main(int argc, char **argv)
{
    mebibytes = argc > 1 ? atof(argv[1]) : 1;
    distance = argc > 2 ? atof(argv[2]) : 1;

    plain(MALLOC_MIXED, site_malloc_mixed, size_mixed, 1.4);
    plain(MALLOC_SPREAD, site_malloc_spread, size_spread, 1.7);
    plain(MALLOC_SMALL, site_malloc_small, size_small, 1);
    plain(MALLOC_MEDIUM, site_malloc_medium, size_medium, 1);
    plain(MALLOC_LARGE, site_malloc_large, size_large, 3);
    plain(CALLOC, site_calloc, size_calloc, 1);
    reallocs();
    reallocs_of_pages();
    plain(ALIGNED, site_aligned, size_aligned, 1);
    if (_Znwm)
        plain(OPERATOR_NEW, site_operator_new, size_new, 1);
    short_threads();
    exchanging_threads();

    for (int site = 0; site < SITES; site++)
        print_site(site);
    return 0;
}
