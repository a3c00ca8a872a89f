# SPDX-License-Identifier: MIT
# xprof.h compiles alone, in C and C++, old and new, strictly; without the library it answers ENOSYS.
cat >use.c <<'END'
#include "xprof.h"
#include <stdio.h>
int main(void)
{
    const char *version = xprof_version();
    printf("%s %d\n", version ? version : "none", xprof_dump("from code"));
    return 0;
}
END
for compiler in gcc clang-14; do
    command -v $compiler >/dev/null || continue
    for standard in c99 c11 gnu17; do
        $compiler -std=$standard -O1 -Wall -Wextra -Werror -I"$SRC/src" use.c -o use-$compiler
        $compiler -std=$standard -DXPROF_LINKED -Wall -Wextra -Werror -fsyntax-only -I"$SRC/src" use.c
    done
    for standard in c++11 c++20; do
        $compiler -x c++ -std=$standard -Wall -Wextra -Werror -fsyntax-only -I"$SRC/src" use.c
        $compiler -x c++ -std=$standard -DXPROF_LINKED -Wall -Wextra -Werror -fsyntax-only -I"$SRC/src" use.c
    done
done
./use-gcc
preload ./use-gcc
HEAPPROFILE=$TMP/hp preload ./use-gcc 2>log
check_line "^Dumping heap profile to $TMP/hp.0001.heap (from code)$" log
gcc -DXPROF_LINKED -I"$SRC/src" use.c -o use-linked -L"${XPROF_SO%/*}" -lxprof -Wl,-rpath,"${XPROF_SO%/*}"
HEAPPROFILE=$TMP/hq ./use-linked 2>log
check_same 2 "$(count hq.*.heap)" "dumps of the linked program"
