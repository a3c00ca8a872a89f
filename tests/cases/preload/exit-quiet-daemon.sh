# SPDX-License-Identifier: MIT
# Once fd 2 is another file, that file is the program's: nothing of ours goes there. The dump is
# written all the same. With XPROF_LOG the log hears of it.
check_status 7 env HEAPPROFILE="$TMP/hp" LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_ways" daemon "$TMP/log" 2>first
cat log
cat first
check_same 1 "$(count hp.*.heap)" dumps
check_status 7 env HEAPPROFILE="$TMP/hq" XPROF_LOG="$TMP/ours" LD_PRELOAD="$XPROF_SO" \
    "$PROGRAMS/exit_ways" daemon "$TMP/log" 2>first
cat log first
sed 's/(Exiting.*)/(Exiting)/' ours
