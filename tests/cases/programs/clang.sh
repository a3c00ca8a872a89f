# SPDX-License-Identifier: MIT
# clang compiles C and C++ with the same result.
need clang-14
. "$SRC/tests/lib/program.sh"
PROGRAM_VERIFY_BYTES=262144
same_as_plain sampled verify often <<'END'
cat >one.c <<'C'
#include <stdio.h>
#include <stdlib.h>
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
int main(void)
{
    static int n[1009];
    for (int i = 0; i < 1009; i++)
        n[i] = (i * 7919) % 1009;
    qsort(n, 1009, sizeof(n[0]), compare);
    printf("%d %d %d\n", n[0], n[504], n[1008]);
    return 0;
}
C
cat >two.cc <<'C'
#include <map>
#include <regex>
#include <string>
#include <cstdio>
int main()
{
    std::map<std::string, int> m;
    std::regex r("([a-z]+)=([0-9]+)");
    std::string s = "a=1 b=22 ccc=333";
    for (std::sregex_iterator i(s.begin(), s.end(), r), e; i != e; ++i)
        m[(*i)[1]] = std::stoi((*i)[2]);
    for (auto &e : m)
        std::printf("%s %d\n", e.first.c_str(), e.second);
}
C
clang-14 -O2 -g -Wall one.c -o one && ./one
clang-14 -O2 -S -emit-llvm one.c -o - | cksum
clang-14 -O1 -fsyntax-only -xc++ two.cc
clang-14 -O2 -c -xc++ two.cc -o two.o && cksum <two.o
echo 'int f(void) { return x; }' | clang-14 -fno-color-diagnostics -xc -c -o /dev/null -
echo "status $?"
END
