# SPDX-License-Identifier: MIT
# Each way out leaves one last dump with what was held then; a death by signal leaves none.
export XPROF_SAMPLE_BYTES=1
for way in return exit atexit quick_exit at_quick_exit _exit _Exit signal closed; do
    status=0
    HEAPPROFILE=$TMP/$way preload "$PROGRAMS/exit_ways" $way 2>log || status=$?
    check_same 7 $status "status of $way"
    check_same 1 "$(count "$TMP/$way".*.heap)" "dumps of $way"
    held=23
    case $way in atexit | at_quick_exit) held=12 ;; esac
    "$HEAPREPORT" -inuse_objects -raw "$TMP/$way.0001.heap" >/dev/null
    # Rows of 10007 bytes each.
    check_line "^ *$held: *$((held * 10007)) \[ *23: *$((23 * 10007))\] @" "$TMP/$way.0001.heap"
    [ $way = closed ] || check_line "^Dumping heap profile to $TMP/$way.0001.heap (Exiting, [0-9]* [kM]*B* in use)$" log
done

ulimit -c 0
check_status 134 env HEAPPROFILE="$TMP/abort" LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_ways" abort 2>log
check_same 0 "$(count "$TMP"/abort*)" "dumps of abort"
