# SPDX-License-Identifier: MIT
# Fork from threads in a busy process, with fork handlers that allocate: no child hangs.
for distance in 524288 1 4096; do
    XPROF_SAMPLE_BYTES=$distance HEAPPROFILE=$TMP/hp$distance XPROF_LOG=$TMP/log preload timeout 60 "$PROGRAMS/fork_handlers"
    # 40 children and 1 parent; timeout is one more process under the library.
    check_same 40 "$(count "$TMP"/hp${distance}_*.0001.heap | awk '{ print $1 - 1 }')" "dumps of children at $distance"
done
