# SPDX-License-Identifier: MIT
# A process that does nothing dumps by the clock; without the option there is no second thread.
mkfifo pipe
env HEAPPROFILE=$TMP/hp HEAP_PROFILE_TIME_INTERVAL=1 XPROF_SAMPLE_BYTES=1 LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_waits" plain "$TMP/end" >pipe 2>log &
pid=$!
read -r ready <pipe
check_same 2 "$(ls /proc/$pid/task | wc -l)" "threads with the clock"
for _ in $(seq 200); do
    [ -e hp.0002.heap ] && break
    sleep 0.05
done
touch end
wait $pid
check_line '^ *23: *230161 \[' hp.0002.heap
check_line 'hp.0002.heap ([0-9]* sec since the last dump)$' log

rm end
env HEAPPROFILE=$TMP/hq LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_waits" plain "$TMP/end" >pipe 2>log &
pid=$!
read -r ready <pipe
check_same 1 "$(ls /proc/$pid/task | wc -l)" "threads without it"
touch end
wait $pid
