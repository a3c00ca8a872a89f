// SPDX-License-Identifier: MIT
// large_blocks.cc - asks for large blocks in every way, each a step above the one before.
//
// None is touched. The functions are looked up in the symbol table.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <vector>

#define NEVER_INLINED __attribute__((noinline))

static void *volatile kept;

// The call must not be the last thing: what is looked for is a return address in here.
#define WAY(name, expression)                                                                      \
    NEVER_INLINED static void name()                                                               \
    {                                                                                              \
        kept = (expression);                                                                       \
        free(kept);                                                                                \
        kept = nullptr;                                                                            \
    }

WAY(below_the_limit, malloc(999983))
WAY(by_malloc, malloc(1150027))
WAY(below_the_next, malloc(1150027))
WAY(by_calloc, calloc(1, 1300021))
WAY(by_realloc, realloc(malloc(101), 1500007))
WAY(by_larger_realloc, realloc(malloc(1500007), 1700021))
WAY(by_memalign, memalign(64, 1950017))
WAY(by_aligned_alloc, aligned_alloc(4096, 2200013))
WAY(in_thread, malloc(3200003))
WAY(in_vain, malloc(SIZE_MAX / 2 - 8191))

NEVER_INLINED static void by_new()
{
    char *block = new char[2500009];
    kept = block;
    delete[] block;
}

NEVER_INLINED static void by_vector()
{
    std::vector<char> block;
    block.reserve(2850013);
    kept = block.data();
}

NEVER_INLINED static void by_posix_memalign()
{
    void *block = nullptr;
    if (posix_memalign(&block, 64, 3600007) == 0)
        kept = block;
    free(block);
}

__attribute__((constructor)) NEVER_INLINED static void before_main()
{
    kept = malloc(1000003);
    free(kept);
}

static void *thread(void *arg)
{
    in_thread();
    return arg;
}

int main()
{
    pthread_t id;

    below_the_limit();
    by_malloc();
    below_the_next();
    by_calloc();
    by_realloc();
    by_larger_realloc();
    by_memalign();
    by_aligned_alloc();
    by_new();
    by_vector();
    pthread_create(&id, nullptr, thread, nullptr);
    pthread_join(id, nullptr);
    by_posix_memalign();
    errno = 0;
    in_vain();
    return errno == ENOMEM ? 0 : 1;
}
