# SPDX-License-Identifier: MIT
# gdb -batch runs a program and looks into it; the program is under the library too.
need gdb gcc
. "$SRC/tests/lib/program.sh"
mkdir "$TMP/input"
cat >"$TMP/input/p.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct node { struct node *next; char name[23]; };
static struct node *make_node(int n)
{
    struct node *x = n ? calloc(1, sizeof(*x)) : NULL;
    if (x) {
        strcpy(x->name, "abcdefghij");
        x->next = make_node(n - 1);
    }
    return x;
}
int main(void)
{
    struct node *x = make_node(7);
    return x->name[0] != 'a';
}
END
gcc -g -O0 "$TMP/input/p.c" -o "$TMP/input/p"
same_as_plain sampled verify <<'END'
gdb -nx -batch -ex 'set confirm off' -ex 'set disable-randomization on' -ex 'break make_node if n == 3' -ex run -ex bt -ex finish \
    -ex 'print $->name' -ex 'info locals' -ex continue ./p 2>&1 | sed -E -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/process [0-9]+/process N/' \
    -e '/^(Starting tracking the heap|Dumping heap profile to .*)$/d'
gdb -nx -batch -ex 'ptype struct node' -ex 'info line main' ./p | sed -E 's/0x[0-9a-f]+/ADDRESS/g'
echo "status $?"
END
