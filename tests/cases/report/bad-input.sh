# SPDX-License-Identifier: MIT
# bad-input.sh - whatever is wrong is told in one line with its place, and the status is 2.
good=$SRC/tests/fixtures/report/libxprof.heap
recorded=$SRC/tests/fixtures/report/gperftools-heapprofile.heap
header='heap profile: 1: 1 [1: 1] @ heapprofile'

# bad WORD...: status 2, nothing on stdout, one line on stderr.
bad()
{
    echo "\$ heapreport $*" >&2
    check_status 2 "$HEAPREPORT" "$@" >out 2>err </dev/null
    cat err >&2
    check_same 0 "$(wc -c <out)" "bytes of output of heapreport $*"
    check_same 1 "$(wc -l <err)" "lines of complaint of heapreport $*"
}

cp "$good" good.heap
cp "$recorded" recorded.heap
cp "$SRC/tests/fixtures/report/gperftools-growth.heap" growth.heap
cp "$SRC/tests/fixtures/report/gperftools-heap_v2.heap" sampled.heap
bad
bad missing.heap
mkdir folder
bad folder
: >empty.heap
bad empty.heap
bad -
echo 'hello, world' >text.heap
bad text.heap
head -c 4096 /bin/sh >program
bad program
printf '\037\213\010\000' >profile.gz
bad profile.gz
printf 'heap_v2/524288\n  t*: 1: 2323 [0: 0]\n' >jemalloc.heap
bad jemalloc.heap
head -c 900 good.heap >cut.heap
bad cut.heap
sed '/^# end/d' good.heap >tail.heap
bad tail.heap
sed '/^MAPPED/,$d' good.heap >maps.heap
bad maps.heap
head -c 3001 recorded.heap >half.heap
bad half.heap
printf '%s\n1: 99999999999999999999 [1: 1] @ 0x1\n' "$header" >number.heap
bad number.heap
printf '%s\n1: 9223372036854775807 [1: 1] @ 0x1\n1: 1 [1: 1] @ 0x2\n' "$header" >sum.heap
bad sum.heap
printf '%s\n1: 1 [1: 1] @ 0x11112222333344445\n' "$header" >address.heap
bad address.heap
printf '%s\n1: 1 [1: 1] @ 0x1 main\n' "$header" >row.heap
bad row.heap
printf 'heap profile: 1: 1 [1: 1] @ cpu\n' >kind.heap
bad kind.heap
cat good.heap recorded.heap >two.heap
bad two.heap
bad good.heap growth.heap
bad -alloc_space sampled.heap
bad -frobnicate good.heap
bad -t good.heap
bad -nodecount=many good.heap
bad -nodefraction=2 good.heap
bad -unit=parsec good.heap
bad -sample_index=cpu good.heap
bad -symbolize=remote good.heap
bad -focus='a(b' good.heap
bad good.heap -o
bad -o folder good.heap
bad -o missing/report good.heap
bad -o /dev/full good.heap

# A program that is in no module of the profile; its build id is not ours to foresee.
check_status 2 "$HEAPREPORT" /bin/true good.heap 2>err
check_line '^heapreport: /bin/true: not a file of this profile (build id .*): the profile is of /opt/victim/app' err

for words in good.heap --help --version; do
    check_status 2 "$HEAPREPORT" $words >/dev/full 2>err
    check_line 'standard output: cannot write: No space left on device' err
done
