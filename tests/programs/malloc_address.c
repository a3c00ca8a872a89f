/* SPDX-License-Identifier: MIT */
/* malloc_address.c - a program at a fixed address that keeps malloc's address, and uses it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Assigned by code: an initialiser would be filled in by the loader, and the names would not get
 * the address of a PLT entry. */
static void *(*volatile allocate)(size_t);
static void (*volatile release)(void *);

/* Earlier than any constructor: the library must decide late and start early. */
static void *early;

static void allocate_early(void)
{
    allocate = malloc;
    release = free;
    early = allocate(1013);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_constructors)(void) = allocate_early;

int main(void)
{
    static void *held[23];

    for (int i = 0; i < 23; i++) {
        held[i] = allocate(101);
        memset(held[i], 1, 101);
        release(allocate(1009));
    }
    puts("done");
    return 0;
}
