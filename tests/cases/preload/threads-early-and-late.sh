# SPDX-License-Identifier: MIT
# Memory before main, after main, in destructors of threads and of their keys, in threads that no
# pthread_create of ours saw, and with the main thread gone.
for distance in 524288 1 0; do
    status=0
    # Many gigabytes pass through: only the last dump counts here.
    HEAP_PROFILE_ALLOCATION_INTERVAL=0 HEAPPROFILE=$TMP/hp$distance XPROF_SAMPLE_BYTES=$distance XPROF_LOG=$TMP/log preload "$PROGRAMS/thread_early_and_late" || status=$?
    echo $status
    check_same 1 "$(count hp$distance.*.heap)" "dumps at $distance"
done
