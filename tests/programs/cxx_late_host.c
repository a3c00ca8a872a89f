/* SPDX-License-Identifier: MIT */
/* cxx_late_host.c - a C program that opens a C++ library privately: argv[1]. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 2 || dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD)) {
        puts("this is no C program");
        return 2;
    }
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            puts(dlerror());
            return 2;
        }
        int (*works)(void) = (int (*)(void))dlsym(library, "late_library_works");
        int step = works();
        if (step != 0) {
            printf("step %d failed\n", step);
            return 1;
        }
        dlclose(library);
    }
    puts("works");
    return 0;
}
