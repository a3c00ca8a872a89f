# SPDX-License-Identifier: MIT
# A program that carries a sanitizer keeps that one's malloc.
need clang-14
cat >leak.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    char *volatile p = malloc(10);
    puts("runs");
    fflush(stdout);
    free(p);
    return p[5];
}
END
clang-14 -fsanitize=address leak.c -o leak || skip "no sanitizer runtime"
ulimit -c 0
status=0
ASAN_OPTIONS=symbolize=0 HEAPPROFILE=$TMP/hp preload ./leak 2>log || status=$?
check_same 1 $status "status"
check_line '^libxprof: profiling is off: the program carries a sanitizer$' log
check_line 'ERROR: AddressSanitizer: heap-use-after-free' log
check_same 0 "$(count hp*)" dumps
