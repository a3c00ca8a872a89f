/* SPDX-License-Identifier: MIT */
/* cxx.c - the C++ runtime, found when it is needed. */
#include "preload/cxx.h"

#include <dlfcn.h>

#include "base/panic.h"

extern xp_new_handler get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern _Noreturn void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv")
    __attribute__((weak));

/* A C program may have opened a C++ library long after we were loaded, and for itself alone
 * (RTLD_LOCAL): our weak references are empty then. */
static void *find_in_libraries(const char *name)
{
    static const char *const libraries[] = {"libstdc++.so.6", "libc++.so.1", "libc++abi.so.1"};

    for (size_t i = 0; i < XP_ARRAY_LENGTH(libraries); i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        if (!library)
            continue;
        void *function = dlsym(library, name);
        dlclose(library); /* it stays as loaded as it was */
        if (function)
            return function;
    }
    return NULL;
}

xp_new_handler xp_cxx_new_handler(void)
{
    if (get_new_handler)
        return get_new_handler();
    xp_new_handler (*found)(void) =
        (xp_new_handler(*)(void))find_in_libraries("_ZSt15get_new_handlerv");
    return found ? found() : NULL;
}

void xp_cxx_throw_bad_alloc(size_t size)
{
    if (throw_bad_alloc)
        throw_bad_alloc();
    void (*found)(void) = (void (*)(void))find_in_libraries("_ZSt17__throw_bad_allocv");
    if (found)
        found();
    xp_panic("operator new has no memory, and no C++ library throws bad_alloc; bytes", size);
}

void *xp_cxx_library_function(const char *name)
{
    void *function = dlsym(RTLD_NEXT, name);
    return function ? function : find_in_libraries(name);
}
