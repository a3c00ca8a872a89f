/* SPDX-License-Identifier: MIT */
/* malloc_semantics.c - every promise of the malloc family, asked as a program would.
 *
 * Plain C that is C++ too: built as both, at -O0 and -O2, preloaded, linked and archived. Prints
 * what does not hold; the last line counts. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "xprof.h"

/* Names that libc does not have, or does not show: the library brings them, perhaps at run time. */
#define LATE __attribute__((weak))
#ifdef __cplusplus
extern "C" {
#endif
void free_sized(void *p, size_t size) LATE;
void free_aligned_sized(void *p, size_t align, size_t size) LATE;
void cfree(void *p) LATE;
void *__libc_malloc(size_t size) LATE;
void *__libc_calloc(size_t count, size_t size) LATE;
void *__libc_realloc(void *p, size_t size) LATE;
void *__libc_memalign(size_t align, size_t size) LATE;
void *__libc_valloc(size_t size) LATE;
void *__libc_pvalloc(size_t size) LATE;
void __libc_free(void *p) LATE;
int __posix_memalign(void **ret, size_t align, size_t size) LATE;
#ifdef __cplusplus
}
#endif

static int failures, checks;

/* What the optimizer may not reason about. */
static void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

static size_t number(size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        checks++;                                                                                  \
        if (!(x)) {                                                                                \
            failures++;                                                                            \
            printf("%d: %s (errno %d)\n", __LINE__, #x, errno);                                    \
        }                                                                                          \
    } while (0)

#define FAILS_WITH(error, expression)                                                              \
    do {                                                                                           \
        errno = 0;                                                                                 \
        CHECK(opaque(expression) == NULL);                                                         \
        CHECK(errno == (error));                                                                   \
    } while (0)

static int aligned(const void *p, size_t align)
{
    return (uintptr_t)p % align == 0;
}

static void size_zero_is_a_block_of_its_own(void)
{
    void *p[8];
    void *q = NULL;

    errno = 77;
    p[0] = opaque(malloc(number(0)));
    p[1] = opaque(malloc(number(0)));
    p[2] = opaque(calloc(number(0), 5));
    p[3] = opaque(calloc(number(5), number(0)));
    p[4] = opaque(realloc(NULL, number(0)));
    p[5] = opaque(valloc(number(0)));
    p[6] = opaque(memalign(64, number(0)));
    CHECK(posix_memalign(&q, 16, number(0)) == 0);
    p[7] = q;
    for (int i = 0; i < 8; i++) {
        CHECK(p[i] != NULL);
        for (int j = 0; j < i; j++)
            CHECK(p[i] != p[j]);
    }
    CHECK(errno == 77);
    for (int i = 0; i < 8; i++)
        free(p[i]);
    q = opaque(pvalloc(number(0)));
    CHECK(q && aligned(q, 4096) && malloc_usable_size(q) >= 4096);
    memset(q, 0xa5, 4096);
    free(q);
}

static void realloc_to_zero_frees(void)
{
    for (int i = 0; i < 1000; i++) {
        void *p = opaque(malloc(101));
        errno = 77;
        CHECK(opaque(realloc(p, number(0))) == NULL);
        CHECK(errno == 77);
    }
    errno = 77;
    void *big = opaque(malloc(20000003));
    CHECK(opaque(realloc(big, number(0))) == NULL);
    CHECK(errno == 77);
}

static void too_large_fails_cleanly(void)
{
    static const size_t sizes[] = {SIZE_MAX,
                                   SIZE_MAX - 1,
                                   SIZE_MAX - 15,
                                   SIZE_MAX - 4095,
                                   SIZE_MAX - 65536,
                                   (size_t)PTRDIFF_MAX + 1,
                                   (size_t)PTRDIFF_MAX,
                                   (size_t)1 << 62};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = number(sizes[i]);
        void *q = (void *)(uintptr_t)0x5a5a;
        FAILS_WITH(ENOMEM, malloc(n));
        FAILS_WITH(ENOMEM, calloc(n, 1));
        FAILS_WITH(ENOMEM, calloc(1, n));
        FAILS_WITH(ENOMEM, realloc(NULL, n));
        FAILS_WITH(ENOMEM, reallocarray(NULL, n, 1));
        FAILS_WITH(ENOMEM, memalign(64, n));
        FAILS_WITH(ENOMEM, memalign(65536, n));
        FAILS_WITH(ENOMEM, aligned_alloc(64, n));
        FAILS_WITH(ENOMEM, valloc(n));
        FAILS_WITH(ENOMEM, pvalloc(n));
        CHECK(posix_memalign(&q, 64, n) == ENOMEM);
        errno = 77; /* the compiler thinks that posix_memalign never sets it */
        CHECK(__posix_memalign(&q, 64, n) == ENOMEM);
        CHECK(q == (void *)(uintptr_t)0x5a5a && errno == ENOMEM);
    }
}

static void overflow_is_no_memory(void)
{
    FAILS_WITH(ENOMEM, calloc(number(SIZE_MAX / 2), 3));
    FAILS_WITH(ENOMEM, calloc(number((size_t)1 << 32), number((size_t)1 << 32)));
    FAILS_WITH(ENOMEM, reallocarray(NULL, number((size_t)1 << 33), number((size_t)1 << 31)));

    char *p = (char *)opaque(malloc(23));
    strcpy(p, "twenty-two characters.");
    FAILS_WITH(ENOMEM, reallocarray(p, number(SIZE_MAX / 2), 3));
    FAILS_WITH(ENOMEM, realloc(p, number(SIZE_MAX)));
    FAILS_WITH(ENOMEM, realloc(p, number((size_t)PTRDIFF_MAX + 1)));
    CHECK(strcmp(p, "twenty-two characters.") == 0);
    free(p);

    char *big = (char *)opaque(malloc(3000001));
    memset(big, 0x3c, 3000001);
    FAILS_WITH(ENOMEM, realloc(big, number(SIZE_MAX - 4096)));
    CHECK(big[0] == 0x3c && big[3000000] == 0x3c);
    free(big);
}

static void alignment_arguments(void)
{
    void *q = (void *)(uintptr_t)0x5a5a;
    static const size_t bad[] = {0, 1, 2, 4, 3, 24, 48, 65, 12288};

    FAILS_WITH(EINVAL, aligned_alloc(number(3), 100));
    FAILS_WITH(EINVAL, aligned_alloc(number(0), 100));
    FAILS_WITH(EINVAL, aligned_alloc(number(48), 100));
    q = opaque(aligned_alloc(number(64), 10)); /* the size need not be a multiple */
    CHECK(q && aligned(q, 64));
    free(q);
    q = opaque(aligned_alloc(number(1), 10));
    CHECK(q != NULL);
    free(q);

    q = opaque(memalign(number(3), 100));
    CHECK(q && aligned(q, 4));
    free(q);
    q = opaque(memalign(number(0), 100));
    CHECK(q != NULL);
    free(q);
    q = opaque(memalign(number(48), 100));
    CHECK(q && aligned(q, 64));
    free(q);
    FAILS_WITH(ENOMEM, memalign(number((size_t)1 << 63), 100));
    FAILS_WITH(EINVAL, memalign(number(SIZE_MAX), 100));

    q = (void *)(uintptr_t)0x5a5a;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        errno = 77;
        CHECK(posix_memalign(&q, number(bad[i]), 100) == EINVAL);
        CHECK(__posix_memalign(&q, number(bad[i]), 100) == EINVAL);
        CHECK(q == (void *)(uintptr_t)0x5a5a && errno == 77);
    }
    CHECK(posix_memalign(&q, 8, 100) == 0 && aligned(q, 8));
    free(q);
}

static void every_alignment_is_kept(void)
{
    static const size_t sizes[] = {1, 16, 17, 100, 640, 1000, 4096, 5000, 32768, 40000, 1000003};

    for (size_t align = 16; align <= (size_t)2 << 20; align *= 2) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            void *p[6] = {NULL, NULL, NULL, NULL, NULL, NULL};
            p[0] = opaque(memalign(align, sizes[i]));
            p[1] = opaque(aligned_alloc(align, sizes[i]));
            CHECK(posix_memalign(&p[2], align, sizes[i]) == 0);
            p[3] = opaque(__libc_memalign(align, sizes[i]));
            CHECK(__posix_memalign(&p[4], align, sizes[i]) == 0);
            p[5] = opaque(memalign(align, sizes[i]));
            for (int j = 0; j < 6; j++) {
                CHECK(p[j] && aligned(p[j], align));
                if (!p[j])
                    continue;
                CHECK(malloc_usable_size(p[j]) >= sizes[i]);
                memset(p[j], j, malloc_usable_size(p[j]));
            }
            for (int j = 0; j < 6; j++) {
                CHECK(p[j] && *(char *)p[j] == j && ((char *)p[j])[sizes[i] - 1] == j);
                if (j == 0)
                    free_aligned_sized(p[j], align, sizes[i]);
                else
                    free(p[j]);
            }
        }
    }
    void *p = opaque(valloc(101));
    void *q = opaque(pvalloc(4097));
    CHECK(p && aligned(p, 4096));
    CHECK(q && aligned(q, 4096) && malloc_usable_size(q) >= 8192);
    free(p);
    free(q);
}

static void blocks_are_aligned_apart_and_usable(void)
{
    static char *block[4000];
    static size_t size[4000];

    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 4000; i++) {
            size[i] = round == 0 ? i : (i * 7919 + (size_t)round) % (round == 1 ? 3000 : 70000);
            block[i] = (char *)opaque(malloc(size[i]));
            CHECK(block[i] && aligned(block[i], 16));
            CHECK(malloc_usable_size(block[i]) >= size[i]);
            memset(block[i], (int)(i % 251), malloc_usable_size(block[i]));
        }
        for (size_t i = 0; i < 4000; i++) {
            size_t usable = malloc_usable_size(block[i]);
            int whole = 1;
            for (size_t j = 0; j<usable; j += usable> 4096 ? 97 : 1)
                whole &= block[i][j] == (char)(i % 251);
            CHECK(whole);
            if (i % 3 == 0)
                free_sized(block[i], size[i]);
            else
                free(block[i]);
        }
    }
    CHECK(malloc_usable_size(NULL) == 0);
    free(NULL);
    free_sized(NULL, 10);
    free_aligned_sized(NULL, 64, 10);
    cfree(NULL);
    __libc_free(NULL);
}

static void calloc_is_zero_after_dirty_use(void)
{
    static const size_t sizes[] = {1, 24, 101, 1000, 1025, 5000, 30000, 33000, 300000, 5000003};

    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            char *dirty = (char *)opaque(malloc(sizes[i]));
            memset(dirty, 0xee, sizes[i]);
            free(dirty);
            char *p = (char *)opaque(round % 2 ? calloc(sizes[i], 1) : __libc_calloc(1, sizes[i]));
            int zero = p != NULL;
            for (size_t j = 0; zero && j<sizes[i]; j += sizes[i]> 100000 ? 509 : 1)
                zero = p[j] == 0;
            CHECK(zero);
            if (p)
                memset(p, 0xdd, sizes[i]);
            free(p);
        }
    }
}

static void realloc_keeps_the_bytes(void)
{
    static const size_t steps[] = {1,       8,        17,       101,   100,   1000,    1030,
                                   5000,    4999,     33000,    70000, 69999, 1000003, 3000000,
                                   2000000, 17000000, 23000000, 17,    4000,  1};
    size_t before = 1;
    unsigned char *p = (unsigned char *)opaque(realloc(NULL, before));

    p[0] = 0;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        errno = 77;
        p = (unsigned char *)opaque(i % 2 ? realloc(p, steps[i]) : __libc_realloc(p, steps[i]));
        CHECK(p != NULL && errno == 77 && aligned(p, 16));
        if (!p)
            return;
        CHECK(malloc_usable_size(p) >= steps[i]);
        size_t keep = before < steps[i] ? before : steps[i];
        int whole = 1;
        for (size_t j = 0; j<keep; j += keep> 100000 ? 4093 : 1)
            whole &= p[j] == (unsigned char)(j * 31);
        CHECK(whole);
        for (size_t j = 0; j < steps[i]; j += 1)
            p[j] = (unsigned char)(j * 31);
        before = steps[i];
    }
    free(p);

    /* A block that grew is freed with its new size; one of a special alignment may be resized. */
    p = (unsigned char *)opaque(memalign(4096, 101));
    p[100] = 9;
    p = (unsigned char *)opaque(realloc(p, 10001));
    CHECK(p && p[100] == 9);
    free_sized(p, 10001);
    p = (unsigned char *)opaque(reallocarray(NULL, 23, 101));
    p = (unsigned char *)opaque(reallocarray(p, 230, 101));
    CHECK(p && malloc_usable_size(p) >= 23230);
    free(p);
}

static void errno_is_left_alone(void)
{
    static const size_t sizes[] = {23, 2000, 100000, (size_t)64 << 20, (size_t)300 << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        errno = 77;
        char *p = (char *)opaque(malloc(sizes[i]));
        CHECK(p && errno == 77);
        if (p)
            p[0] = p[sizes[i] - 1] = 1;
        errno = 78;
        free(p);
        CHECK(errno == 78);
    }
    for (int i = 0; i < 20000; i++) {
        errno = 77;
        free(opaque(malloc((size_t)(i * 13 % 5000))));
        if (errno != 77) {
            CHECK(errno == 77);
            break;
        }
    }
}

static void many_of_one_size(void)
{
    static void *block[70000];
    int good = 1;

    for (int i = 0; i < 70000; i++) {
        block[i] = opaque(malloc(41));
        good &= block[i] != NULL;
        *(int *)block[i] = i;
    }
    for (int i = 0; i < 70000; i++)
        good &= *(int *)block[i] == i;
    CHECK(good);
    for (int i = 0; i < 70000; i++)
        free(block[i * 17 % 70000 == i ? i : i]);
}

static void libc_twins_are_the_same_heap(void)
{
    free(opaque(__libc_malloc(101)));
    __libc_free(opaque(malloc(101)));
    cfree(opaque(__libc_calloc(1, 101)));
    free(opaque(__libc_valloc(101)));
    free(opaque(__libc_pvalloc(101)));
    __libc_free(opaque(__libc_memalign(256, 101)));
    free(opaque(__libc_realloc(malloc(23), 101)));
    /* And what libc itself allocates. */
    char *copy = strdup("libc calls us"), *line = NULL;
    size_t room = 0;
    CHECK(malloc_usable_size(copy) >= 14);
    free(copy);
    FILE *file = tmpfile();
    if (file) {
        fputs("a line\n", file);
        rewind(file);
        CHECK(getline(&line, &room, file) == 7);
        CHECK(malloc_usable_size(line) >= room);
        free(line);
        fclose(file);
    }
}

static void figures_are_answered(void)
{
    char text[4096] = "";
    void *p = opaque(malloc(10000019));
    FILE *file = fmemopen(text, sizeof(text) - 1, "w");

    memset(p, 1, 10000019);
    struct mallinfo2 wide = mallinfo2();
    CHECK(wide.arena + wide.hblkhd >= 10000019);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    struct mallinfo narrow = mallinfo();
#pragma GCC diagnostic pop
    CHECK(narrow.arena > 0 || narrow.hblkhd > 0);
    CHECK(malloc_info(0, file) == 0);
    errno = 0;
    CHECK(malloc_info(1, file) == -1 && errno == EINVAL);
    fclose(file);
    CHECK(strncmp(text, "<malloc version=", 16) == 0 && strstr(text, "</malloc>"));
    CHECK(mallopt(M_MMAP_THRESHOLD, 1 << 20) == 1);
    CHECK(mallopt(-12345, 0) == 1);
    free(p);
    int released = malloc_trim(0);
    CHECK(released == 0 || released == 1);
}

int main(void)
{
    const char *version = xprof_version();

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!version) {
        puts("libxprof is not here");
        return 2;
    }
    CHECK(strcmp(version, "0.1.0") == 0);
    size_zero_is_a_block_of_its_own();
    realloc_to_zero_frees();
    too_large_fails_cleanly();
    overflow_is_no_memory();
    alignment_arguments();
    every_alignment_is_kept();
    blocks_are_aligned_apart_and_usable();
    calloc_is_zero_after_dirty_use();
    realloc_keeps_the_bytes();
    errno_is_left_alone();
    many_of_one_size();
    libc_twins_are_the_same_heap();
    figures_are_answered();
    printf("%s\n", failures ? "some do not hold" : "all hold");
    return failures || checks < 1000;
}
