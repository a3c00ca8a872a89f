/* SPDX-License-Identifier: MIT */
/* malloc_own.c - a program with a malloc of its own, a simple one, that counts. It knows neither
 * aligned_alloc nor realloc of strangers, and wants none of its blocks freed by others. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(16) char arena[16 << 20];
static size_t used;
static int mine, strangers;

static int is_mine(const void *p)
{
    return (const char *)p >= arena && (const char *)p < arena + sizeof(arena);
}

void *malloc(size_t size)
{
    size_t at = used;
    if (size > sizeof(arena) - used - 32)
        return NULL;
    used += (size + 31) / 16 * 16;
    memcpy(arena + at, &size, sizeof(size));
    mine++;
    return arena + at + 16;
}

void *calloc(size_t count, size_t size)
{
    return malloc(count * size); /* never used twice: zero */
}

void free(void *p)
{
    if (p && !is_mine(p))
        strangers++;
}

void *realloc(void *p, size_t size)
{
    size_t old;
    void *q = malloc(size);
    if (p && q) {
        memcpy(&old, (char *)p - 16, sizeof(old));
        memcpy(q, p, old < size ? old : size);
    }
    return q;
}

int main(void)
{
    /* What libc allocates for itself, and gives to the program to free, comes from here too. */
    char *copy = strdup("from libc");
    FILE *file = tmpfile();
    char *line = NULL;
    size_t room = 0;

    if (file) {
        fputs("a line\n", file);
        rewind(file);
        if (getline(&line, &room, file) != 7)
            return 1;
        fclose(file);
    }
    if (!is_mine(copy) || (line && !is_mine(line)))
        return 2;
    free(copy);
    free(line);
    printf("own malloc: %s, %d strangers\n", mine > 0 ? "used" : "not used", strangers);
    return 0;
}
