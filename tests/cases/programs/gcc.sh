# SPDX-License-Identifier: MIT
# gcc compiles C and C++, links, and complains with the same words.
need gcc g++
. "$SRC/tests/lib/program.sh"
same_as_plain sampled exact verify <<'END'
cat >one.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int unused;
struct list { struct list *next; int value; };
int main(void)
{
    struct list *head = NULL;
    for (int i = 0; i < 101; i++) {
        struct list *l = malloc(sizeof(*l));
        l->next = head, l->value = i, head = l;
    }
    int sum = 0;
    for (struct list *l = head; l; l = l->next)
        sum += l->value;
    printf("%d\n", sum);
    return 0;
}
C
cat >two.cc <<'C'
#include <map>
#include <string>
#include <iostream>
int main()
{
    std::map<std::string, int> m;
    for (int i = 0; i < 23; i++)
        m[std::to_string(i * i)] = i;
    for (auto &e : m)
        std::cout << e.first << ' ' << e.second << '\n';
}
C
gcc -O2 -g -Wall -Wextra one.c -o one && ./one
gcc -O2 -S one.c -o - | cksum
g++ -O2 two.cc -o two && ./two | cksum
echo 'int f(void) { return x; }' | gcc -xc -c -o /dev/null -
echo "status $?"
END
