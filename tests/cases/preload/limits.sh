# SPDX-License-Identifier: MIT
# A program that lowers its own address space gets what it left itself; one that starts with little
# starts.
preload "$PROGRAMS/malloc_limits" 100
preload "$PROGRAMS/malloc_limits" 300 prlimit
HEAP_PROFILE_INUSE_INTERVAL=0 HEAPPROFILE=$TMP/hp preload "$PROGRAMS/malloc_limits" 200 2>log
check_same 1 "$(count hp.*.heap)" "dumps"
preload "$PROGRAMS/malloc_locked"
for kib in 4000000 400000 100000; do
    (
        ulimit -v $kib
        HEAPPROFILE=$TMP/small XPROF_SAMPLE_BYTES=4096 preload "$PROGRAMS/exit_ways" return 2>log || echo "$kib: $?"
    )
done
check_same 3 "$(count small.*.heap)" "dumps under ulimit -v"
