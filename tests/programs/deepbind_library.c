/* SPDX-License-Identifier: MIT */
/* deepbind_library.c - makes, changes and frees blocks for deepbind_host. */
#include <stdlib.h>
#include <string.h>

char *library_make(size_t size);
char *library_grow(char *block, size_t size);
void library_drop(void *block);

__attribute__((noinline)) char *library_make(size_t size)
{
    char *block = malloc(size);
    if (block)
        memset(block, 0x5a, size);
    return block;
}

char *library_grow(char *block, size_t size)
{
    return realloc(block, size);
}

void library_drop(void *block)
{
    free(block);
}
