# SPDX-License-Identifier: MIT
# Without debug information names come from the symbol tables, sizes respected, and the reason is told.
need objcopy xz
tool=$PROGRAMS/symbolize_file
cat >lib.c <<'C'
static int __attribute__((noinline)) hidden(int n) { return n * 23 + 101; }
int api_one(int n) { return hidden(n) + 1; }
int api_two(int n) { return hidden(n) + 2; }
C
gcc -O1 -shared -fPIC -o lib.so lib.c
addresses()
{
    for name in "$@"; do
        nm lib.so | sed -n "s/^0*\([0-9a-f]*\) [tT] $name\$/0x\1/p"
    done
}
addresses hidden api_one api_two >asked
"$tool" lib.so <asked >got 2>diagnosis
check_same 'hidden api_one api_two' "$(awk 'NR % 3 == 1' got | xargs)" 'by symtab'
check_line 'no debug information' diagnosis

objcopy --strip-all lib.so stripped.so
"$tool" stripped.so <asked >got 2>diagnosis
check_same '?? api_one api_two' "$(awk 'NR % 3 == 1' got | xargs)" 'by dynsym'
check_line 'stripped, and no debug file .*: 2 of 3 addresses have a name' diagnosis

# MiniDebugInfo: a packed symbol table, as Fedora leaves it in stripped files.
objcopy --strip-debug --keep-symbol=hidden lib.so mini
xz -k mini
objcopy --strip-all --add-section .gnu_debugdata=mini.xz lib.so fedora.so
"$tool" fedora.so <asked >got 2>diagnosis
check_same 'hidden api_one api_two' "$(awk 'NR % 3 == 1' got | xargs)" 'by .gnu_debugdata'
