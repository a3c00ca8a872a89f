/* SPDX-License-Identifier: MIT */
/* test.h - unit tests: TEST(name) bodies, CHECKs, death tests; prints TAP.
 *
 * One test program per file of the project, linked with that layer and those below only. A failed
 * CHECK ends its test, not the program. Arguments pick tests by name. */
#ifndef XP_TESTS_TEST_H
#define XP_TESTS_TEST_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct test {
    const char *name;
    void (*run)(void);
    struct test *next;
};

void test_register(struct test *test);
_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *reason);

/* Runs body in a forked child; returns its wait status and fills text (cut, terminated) with what
 * it wrote to stderr. */
int test_fork(void (*body)(void *arg), void *arg, char *text, size_t size);

#define TEST(test_name)                                                                            \
    static void test_name(void);                                                                   \
    static struct test test_##test_name = {#test_name, test_name, NULL};                           \
    __attribute__((constructor)) static void register_##test_name(void)                            \
    {                                                                                              \
        test_register(&test_##test_name);                                                          \
    }                                                                                              \
    static void test_name(void)

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x))                                                                                  \
            test_fail(__FILE__, __LINE__, "%s", #x);                                               \
    } while (0)

#define CHECK_EQ(a, b)                                                                             \
    do {                                                                                           \
        long long a_ = (long long)(a), b_ = (long long)(b);                                        \
        if (a_ != b_)                                                                              \
            test_fail(__FILE__, __LINE__, "%s == %s: %lld, %lld", #a, #b, a_, b_);                 \
    } while (0)

#define CHECK_STR(a, b)                                                                            \
    do {                                                                                           \
        const char *a_ = (a), *b_ = (b);                                                           \
        if (strcmp(a_, b_) != 0)                                                                   \
            test_fail(__FILE__, __LINE__, "%s == %s:\n#   '%s'\n#   '%s'", #a, #b, a_, b_);        \
    } while (0)

#define CHECK_NEAR(a, b, tolerance)                                                                \
    do {                                                                                           \
        double a_ = (a), b_ = (b), t_ = (tolerance);                                               \
        if (!(a_ - b_ <= t_ && b_ - a_ <= t_))                                                     \
            test_fail(__FILE__, __LINE__, "%s ~ %s: %.17g, %.17g (within %g)", #a, #b, a_, b_,     \
                      t_);                                                                         \
    } while (0)

#endif
