/* SPDX-License-Identifier: MIT */
/* cxx_new_in_c.c - C code that calls operator new by its name: there is nobody to throw. Linked
 * with no C++ library: the names come with ours. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

void *operator_new(size_t size) __asm__("_Znwm") __attribute__((weak));
void *operator_new_nothrow(size_t size, const void *tag) __asm__("_ZnwmRKSt9nothrow_t")
    __attribute__((weak));
void operator_delete(void *p) __asm__("_ZdlPv") __attribute__((weak));

int main(void)
{
    char tag;
    volatile size_t huge = (size_t)PTRDIFF_MAX - 4096;
    void *p = operator_new(101);

    operator_delete(p);
    if (operator_new_nothrow(huge, &tag))
        return 2;
    puts("before");
    fflush(stdout);
    operator_new(huge);
    puts("after");
    return 0;
}
