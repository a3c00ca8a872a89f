// SPDX-License-Identifier: MIT
// cxx_late_library.cc - opened by a C program long after its start: see cxx_late_host.c.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <stdexcept>
#include <string>

extern "C" void *_Unwind_RaiseException;

static std::size_t opaque(std::size_t n)
{
    __asm__ volatile("" : "+r"(n));
    return n;
}

static int handler_calls;

static void handler()
{
    if (++handler_calls == 3)
        throw std::bad_alloc();
}

// 0, or the number of the first step that went wrong.
extern "C" int late_library_works(void)
{
    const std::size_t huge = opaque(static_cast<std::size_t>(PTRDIFF_MAX) - 4096);

    try {
        ::operator delete(::operator new(huge));
        return 1;
    } catch (const std::bad_alloc &) {
    }
    if (::operator new(huge, std::nothrow))
        return 2;
    std::set_new_handler(handler);
    if (::operator new[](huge, std::nothrow) || handler_calls != 3)
        return 3;
    std::set_new_handler(nullptr);
    try {
        std::string text(opaque(300), 'x');
        throw std::runtime_error(text);
    } catch (const std::exception &error) {
        if (std::strlen(error.what()) != 300)
            return 4;
    }
    // The unwinder of these exceptions must be the compiler's, not one that came with a profiler.
    Dl_info info;
    void *raise = dlsym(RTLD_DEFAULT, "_Unwind_RaiseException");
    if (!raise)
        raise = &_Unwind_RaiseException;
    if (!dladdr(raise, &info) || !std::strstr(info.dli_fname, "libgcc_s"))
        return 5;
    return 0;
}
