# SPDX-License-Identifier: MIT
# A signal makes an idle process dump, also a forked child; a signal that the program uses is its own.
mkfifo pipe
env HEAPPROFILE=$TMP/hp HEAPPROFILESIGNAL=12 XPROF_SAMPLE_BYTES=1 LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_waits" plain "$TMP/end" >pipe 2>log &
pid=$!
read -r ready <pipe
for number in 1 2 3; do
    kill -12 $pid
    for _ in $(seq 200); do
        [ -e hp.000$number.heap ] && break
        sleep 0.05
    done
    check_line '^ *23: *230161 \[' hp.000$number.heap
done
touch end
wait $pid
sed 's/(Exiting.*)/(Exiting)/' log
check_same 4 "$(count hp.*.heap)" dumps

rm end
env HEAPPROFILE=$TMP/hc HEAPPROFILESIGNAL=12 LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_waits" child "$TMP/end" >pipe 2>/dev/null &
pid=$!
read -r child <pipe
for _ in $(seq 200); do
    [ "$(ls /proc/$child/task | wc -l)" = 2 ] && break
    sleep 0.05
done
kill -12 $child
for _ in $(seq 200); do
    [ -e hc_$child.0001.heap ] && break
    sleep 0.05
done
touch end
wait $pid
check_same 2 "$(count hc_$child.*.heap)" "dumps of the child"

rm end
: >"$TMP/end"
for signo in 9 65; do
    HEAPPROFILE=$TMP/hk HEAPPROFILESIGNAL=$signo preload "$PROGRAMS/exit_waits" plain "$TMP/end" 2>&1 >/dev/null | head -n 2
done
# The program's own handler takes over: no dump but the last.
rm end
env HEAPPROFILE=$TMP/hm HEAPPROFILESIGNAL=12 LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_waits" usr2-is-mine "$TMP/end" >pipe 2>/dev/null &
pid=$!
read -r ready <pipe
kill -12 $pid
touch end
wait $pid
check_same 1 "$(count hm.*.heap)" "dumps of the program that catches the signal"
# One that was there before us: ignored by the parent.
(
    trap '' USR2
    HEAPPROFILE=$TMP/hi HEAPPROFILESIGNAL=12 preload "$PROGRAMS/exit_waits" plain "$TMP/end" 2>&1 >/dev/null | grep Signal
)
