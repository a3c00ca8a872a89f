// SPDX-License-Identifier: MIT
// cxx_operators.cc - operator new and delete in all their forms, with and without memory.
//
// Built at -O0 and -O2, preloaded, linked and archived. Prints what does not hold.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "xprof.h"

static int failures;

#define CHECK(x)                                                                                   \
    do {                                                                                           \
        if (!(x)) {                                                                                \
            failures++;                                                                            \
            std::printf("%d: %s\n", __LINE__, #x);                                                 \
        }                                                                                          \
    } while (0)

template <class T> static T opaque(T value)
{
    __asm__ volatile("" : "+r"(value) : : "memory");
    return value;
}

static const std::size_t huge_size = opaque(static_cast<std::size_t>(PTRDIFF_MAX) - 4096);

struct alignas(64) Wide {
    char bytes[192];
};

struct Throws {
    char bytes[101];
    Throws()
    {
        throw std::runtime_error("constructor");
    }
};

static void every_form_gives_and_takes()
{
    using std::align_val_t;
    static const std::size_t sizes[] = {0, 1, 16, 23, 101, 1024, 1025, 5000, 33000, 1000003};

    for (std::size_t n : sizes) {
        void *p = opaque(::operator new(n));
        CHECK(p && malloc_usable_size(p) >= n);
        std::memset(p, 1, n);
        ::operator delete(p);
        p = opaque(::operator new[](n));
        ::operator delete[](p);
        p = opaque(::operator new(n));
        ::operator delete(p, n);
        p = opaque(::operator new[](n));
        ::operator delete[](p, n);
        p = opaque(::operator new(n, std::nothrow));
        CHECK(p);
        ::operator delete(p, std::nothrow);
        p = opaque(::operator new[](n, std::nothrow));
        CHECK(p);
        ::operator delete[](p, std::nothrow);
        for (std::size_t a = 8; a <= 1u << 21; a *= 4) {
            align_val_t align{a};
            p = opaque(::operator new(n, align));
            CHECK(reinterpret_cast<std::uintptr_t>(p) % a == 0 && malloc_usable_size(p) >= n);
            ::operator delete(p, align);
            p = opaque(::operator new[](n, align));
            CHECK(reinterpret_cast<std::uintptr_t>(p) % a == 0);
            ::operator delete[](p, align);
            p = opaque(::operator new(n, align));
            ::operator delete(p, n, align);
            p = opaque(::operator new[](n, align));
            ::operator delete[](p, n, align);
            p = opaque(::operator new(n, align, std::nothrow));
            CHECK(p && reinterpret_cast<std::uintptr_t>(p) % a == 0);
            ::operator delete(p, align, std::nothrow);
            p = opaque(::operator new[](n, align, std::nothrow));
            CHECK(p && reinterpret_cast<std::uintptr_t>(p) % a == 0);
            ::operator delete[](p, align, std::nothrow);
        }
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
    ::operator delete(nullptr, std::size_t(5));
    ::operator delete(nullptr, std::nothrow);
    ::operator delete (nullptr, align_val_t{64});

    Wide *wide = opaque(new Wide);
    CHECK(reinterpret_cast<std::uintptr_t>(wide) % 64 == 0);
    delete wide;
    Wide *many = opaque(new Wide[23]);
    CHECK(reinterpret_cast<std::uintptr_t>(many) % 64 == 0);
    delete[] many;
    /* malloc and new are one heap. */
    std::free(opaque(::operator new(101)));
    ::operator delete(opaque(std::malloc(101)));
    ::operator delete(opaque(aligned_alloc(256, 1001)), std::size_t(1001));
}

template <class F> static bool throws_bad_alloc(F f)
{
    try {
        f();
    } catch (const std::bad_alloc &) {
        return true;
    } catch (...) {
    }
    return false;
}

static void no_memory_is_bad_alloc_or_null()
{
    std::align_val_t align{64};

    CHECK(throws_bad_alloc([] { opaque(::operator new(huge_size)); }));
    CHECK(throws_bad_alloc([] { opaque(::operator new[](huge_size)); }));
    CHECK(throws_bad_alloc([=] { opaque(::operator new(huge_size, align)); }));
    CHECK(throws_bad_alloc([=] { opaque(::operator new[](huge_size, align)); }));
    CHECK(throws_bad_alloc([] { opaque(::operator new(opaque(SIZE_MAX))); }));
    errno = 0;
    CHECK(!opaque(::operator new(huge_size, std::nothrow)));
    CHECK(!opaque(::operator new[](huge_size, std::nothrow)));
    CHECK(!opaque(::operator new(huge_size, align, std::nothrow)));
    CHECK(!opaque(::operator new[](huge_size, align, std::nothrow)));
    CHECK(errno == ENOMEM);
    /* Alignments that are none. */
    std::align_val_t crooked{opaque(std::size_t(48))};
    CHECK(throws_bad_alloc([=] { opaque(::operator new(100, crooked)); }));
    CHECK(!opaque(::operator new(100, crooked, std::nothrow)));
}

static int handler_calls;

static void handler_gives_up_after_five()
{
    if (++handler_calls == 5)
        std::set_new_handler(nullptr);
}

static void handler_throws()
{
    handler_calls++;
    throw std::bad_alloc();
}

struct OutOfLuck {
};

static void handler_throws_something_else()
{
    handler_calls++;
    throw OutOfLuck();
}

static void the_handler_is_asked_until_it_gives_up()
{
    handler_calls = 0;
    std::set_new_handler(handler_gives_up_after_five);
    CHECK(throws_bad_alloc([] { opaque(::operator new(huge_size)); }));
    CHECK(handler_calls == 5);

    handler_calls = 0;
    std::set_new_handler(handler_gives_up_after_five);
    CHECK(!opaque(::operator new(huge_size, std::nothrow)));
    CHECK(handler_calls == 5);

    handler_calls = 0;
    std::set_new_handler(handler_gives_up_after_five);
    CHECK(!opaque(::operator new[](huge_size, std::align_val_t{64}, std::nothrow)));
    CHECK(handler_calls == 5);

    /* malloc has no handler. */
    handler_calls = 0;
    std::set_new_handler(handler_throws);
    CHECK(!opaque(std::malloc(huge_size)));
    CHECK(handler_calls == 0);

    CHECK(throws_bad_alloc([] { opaque(::operator new(huge_size)); }));
    CHECK(handler_calls == 1);
    CHECK(!opaque(::operator new(huge_size, std::nothrow)));
    CHECK(!opaque(::operator new[](huge_size, std::nothrow)));
    CHECK(!opaque(::operator new (huge_size, std::align_val_t{64}, std::nothrow)));
    CHECK(!opaque(::operator new[](huge_size, std::align_val_t{64}, std::nothrow)));
    CHECK(handler_calls == 5);

    std::set_new_handler(handler_throws_something_else);
    bool caught = false;
    try {
        opaque(::operator new(huge_size));
    } catch (const OutOfLuck &) {
        caught = true;
    }
    CHECK(caught);
    std::set_new_handler(nullptr);
}

static void exceptions_and_containers()
{
    for (int i = 0; i < 1000; i++) {
        bool caught = false;
        try {
            opaque(new Throws); /* its memory is given back by the compiler's code */
        } catch (const std::runtime_error &error) {
            caught = std::strcmp(error.what(), "constructor") == 0;
        }
        if (!caught) {
            CHECK(caught);
            break;
        }
    }
    std::vector<std::string> texts;
    for (int i = 0; i < 5000; i++)
        texts.push_back(std::string(static_cast<std::size_t>(i % 300), 'x'));
    std::size_t sum = 0;
    for (const std::string &text : texts)
        sum += text.size();
    CHECK(sum == 737500);
    CHECK(throws_bad_alloc([] { std::vector<char> v(huge_size - 1); }));
}

int main()
{
    if (!xprof_version()) {
        std::puts("libxprof is not here");
        return 2;
    }
    every_form_gives_and_takes();
    no_memory_is_bad_alloc_or_null();
    the_handler_is_asked_until_it_gives_up();
    exceptions_and_containers();
    std::printf("%s\n", failures ? "some do not hold" : "all hold");
    return failures != 0;
}
