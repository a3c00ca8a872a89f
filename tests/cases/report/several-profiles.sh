# SPDX-License-Identifier: MIT
# several-profiles.sh - of one process the last dump is shown, different processes are added up.
good=$SRC/tests/fixtures/report/libxprof.heap
cp "$good" a.0002.heap
sed 's/^# sequence 2/# sequence 1/; s/^  2323:   234623/     1:        1/' "$good" >a.0001.heap
sed 's/^# run .*/# run 00ff00ff00ff00ff/; s/55d0a1b/66e0b2c/g' "$good" >b.0001.heap

total()
{
    "$HEAPREPORT" -symbolize=none -unit=B "$@" 2>err | sed -n 's/^Showing .* of \(.*\)B total$/\1/p'
}

check_same 526669 "$(total a.0001.heap a.0002.heap)" "the last by sequence"
check_line 'a series: 1 earlier one left out, a.0002.heap is shown' err
check_same 526669 "$(total a.0002.heap a.0001.heap)" "the order of the arguments does not matter"
check_same 1053338 "$(total a.0002.heap b.0001.heap)" "two processes"
check_line 'sums over 2 processes' err
check_same 1053338 "$(total a.0001.heap b.0001.heap a.0002.heap)" "two processes, one with two dumps"
check_line 'the last of each process is shown' err

# The program lay elsewhere in the second process, and still its frames are the same.
"$HEAPREPORT" -symbolize=none -collapsed a.0002.heap >one 2>err
"$HEAPREPORT" -symbolize=none -collapsed a.0002.heap b.0001.heap >sum 2>err
awk '{ $NF *= 2; print }' one | cmp - sum || fail "the sum of two equal profiles is not twice one"

# gperftools has no run ids: its names tell.
recorded=$SRC/tests/fixtures/report/gperftools-heapprofile.heap
cp "$recorded" g.0001.heap
cp "$recorded" g.0002.heap
cp "$recorded" h.0002.heap
check_same 360882 "$(total g.0001.heap g.0002.heap)" "numbered dumps"
check_line 'g.0002.heap is shown' err
check_same 721764 "$(total g.0001.heap h.0002.heap)" "dumps of two prefixes"
