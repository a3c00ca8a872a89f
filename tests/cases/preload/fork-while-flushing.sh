# SPDX-License-Identifier: MIT
# A fork that waits in libc for a thread does not keep that thread from allocating.
for distance in 524288 1; do
    XPROF_SAMPLE_BYTES=$distance HEAPPROFILE=$TMP/hp$distance XPROF_LOG=$TMP/log preload timeout 60 "$PROGRAMS/fork_flush"
done
