# SPDX-License-Identifier: MIT
# nothing-to-show.sh - a report without rows says why, and what shows more.
good=$SRC/tests/fixtures/report/libxprof.heap
sed -e '/^ *[0-9]*:/d' -e 's/^heap profile.*/heap profile:      0:        0 [00: 0] @ heapprofile/' "$good" >none.heap
"$HEAPREPORT" none.heap >out 2>err
check_line 'accounting for 0, 0% of 0 total' out
check_line '^heapreport: no sample was taken: they lie about 524288 bytes apart, .* children have files of their own); with XPROF_SAMPLE_BYTES=1 ' err

sed -e '/^ *[0-9]*:/d' -e 's/^heap profile.*/heap profile:      0:        0 [023: 2323] @ heapprofile\n     0:        0 [    23:     2323] @ 0x10001/' "$good" >freed.heap
"$HEAPREPORT" freed.heap >out 2>err
check_line '^heapreport: nothing was in use at the time of this dump; -alloc_space ' err
"$HEAPREPORT" -alloc_space -symbolize=none freed.heap >out 2>err
check_line ' of 2\.27kB total' out
check_no_line 'nothing was in use' err

# A filter does not make it a question of samples.
"$HEAPREPORT" -symbolize=none -focus=nowhere freed.heap >out 2>err
check_line '^heapreport: nothing was in use at the time of this dump; -alloc_space ' err
check_no_line 'no sample was taken' err

# What a filter leaves may have been freed while something else is in use.
sed -e 's/^\(heap profile:\).*/\1 5: 505 [28: 2828] @ heapprofile/' -e 's/0x10001$/0x55d0a1b21010/' \
    -e '/^MAPPED/i \     5:      505 [     5:      505] @ 0x7f0a1c126010' freed.heap >others.heap
"$HEAPREPORT" -symbolize=none -collapsed -focus=victim others.heap >out 2>err
[ ! -s out ] || fail "freed stacks are shown"
check_line '^heapreport: nothing in these stacks was in use at the time of this dump; -alloc_space ' err
"$HEAPREPORT" -symbolize=none -collapsed others.heap >out 2>err
check_line '^\[libc\.so\.6\] 505$' out
check_no_line 'nothing' err
