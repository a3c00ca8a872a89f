/* SPDX-License-Identifier: MIT */
/* deepbind_host.c - a library opened with RTLD_DEEPBIND and its host free each other's blocks.
 *
 * Also what dlsym() finds in a handle of libc. Argument: the path of deepbind_library.so. The host
 * leaks 7 blocks of 3001 bytes that the library made. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *handle, const char *name)
{
    void *function = handle ? dlsym(handle, name) : NULL;
    if (!function) {
        printf("%s\n", dlerror());
        exit(3);
    }
    return function;
}

static void *kept[7];

int main(int argc, char **argv)
{
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_DEEPBIND);
    char *(*make)(size_t) = (char *(*)(size_t))need(library, "library_make");
    char *(*grow)(char *, size_t) = (char *(*)(char *, size_t))need(library, "library_grow");
    void (*drop)(void *) = (void (*)(void *))need(library, "library_drop");
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    void *(*libc_malloc)(size_t) = (void *(*)(size_t))need(libc, "malloc");
    void (*libc_free)(void *) = (void (*)(void *))need(libc, "free");

    for (size_t size = 1; size < 1000000; size = size * 3 / 2 + 1) {
        free(make(size));
        drop(strdup("from the host"));
        drop(aligned_alloc(64, (size + 63) / 64 * 64));
        free(grow(malloc(size), size + 23));
        libc_free(malloc(size));
        free(libc_malloc(size));
    }
    for (int i = 0; i < 7; i++)
        kept[i] = make(3001);
    printf("same malloc: %d\n", libc_malloc == malloc);
    return 0;
}
