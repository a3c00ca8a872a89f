# SPDX-License-Identifier: MIT
# A program with its own malloc keeps it: we forward, profile nothing and say so. One that only takes
# malloc's address has none.
preload "$PROGRAMS/malloc_own"
HEAPPROFILE=$TMP/hp preload "$PROGRAMS/malloc_own" 2>log
sed "s|$PROGRAMS|PROGRAMS|" log
check_same 0 "$(count hp*)" "dumps"
HEAPPROFILE=$TMP/ha XPROF_SAMPLE_BYTES=1 preload "$PROGRAMS/malloc_address" 2>log
check_line 'in use' log
check_line '^ *23: *2323 \[ *23: *2323\]' ha.0001.heap
