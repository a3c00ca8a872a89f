/* SPDX-License-Identifier: MIT */
/* malloc_foreign.c - frees what no malloc of this process made, or made and took back already. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char in_data[64];

static void *opaque(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char on_stack[64];

    if (strcmp(what, "stack") == 0) {
        errno = 77;
        free(opaque(on_stack));
        free(opaque(in_data));
        for (int i = 0; i < 1000; i++)
            free(opaque(on_stack + 16));
        if (errno != 77 || malloc_usable_size(opaque(on_stack)) != 0)
            return 1;
        if (realloc(opaque(in_data), 100) != NULL || errno != ENOMEM)
            return 2;
    } else if (strcmp(what, "mapped") == 0) {
        char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        free(opaque(map));
        free(opaque(map + 4096));
        map[5000] = 1;
    } else if (strcmp(what, "libc") == 0) {
        /* libc's own malloc, behind the loader's back; its blocks come from the brk heap. */
        void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
        void *(*libc_malloc)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
        char *p[10];
        for (int i = 0; i < 10; i++) {
            p[i] = libc_malloc(101);
            memset(p[i], 1, 101);
        }
        for (int i = 0; i < 5; i++)
            free(opaque(p[i]));
        if (malloc_usable_size(p[5]) < 101)
            return 1;
        char *q = realloc(opaque(p[5]), 5000);
        if (!q || q[100] != 1)
            return 2;
        free(q);
    } else if (strcmp(what, "double") == 0) {
        void *p = opaque(malloc(70001)), *q = opaque(malloc(70001));
        errno = 77;
        free(p);
        free(opaque(p));
        free(q);
        if (errno != 77)
            return 1;
    } else if (strcmp(what, "wild") == 0) {
        char *p = opaque(malloc(70001));
        free(opaque(p + 16));
        free(opaque(p + 65536));
        memset(p, 1, 70001);
        free(p);
    }
    void *p = malloc(101);
    free(p);
    puts("goes on");
    return 0;
}
