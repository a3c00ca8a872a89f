# SPDX-License-Identifier: MIT
# A library opened with RTLD_DEEPBIND uses our malloc, and its blocks are in the dump.
for distance in 524288 1 0; do
    XPROF_SAMPLE_BYTES=$distance HEAPPROFILE=$TMP/hp$distance XPROF_LOG=$TMP/log \
        preload "$PROGRAMS/deepbind_host" "$PROGRAMS/deepbind_library.so"
done
check_no_line 'libxprof:' "$TMP/log"
check_line '^ *7: *21007 \[' "$TMP/hp1.0001.heap"
