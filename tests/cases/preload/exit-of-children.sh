# SPDX-License-Identifier: MIT
# Children dump under names with their number, whatever made them; a vfork child leaves no trace in
# its parent; a program replaced by exec keeps its files.
export XPROF_SAMPLE_BYTES=1

run()
{
    way=$1
    shift
    mkdir "$way"
    status=0
    HEAPPROFILE=$TMP/$way/hp preload "$PROGRAMS/exit_ways" "$way" "$@" 2>log || status=$?
    check_same 7 $status "status of $way"
    plain=$(count "$way"/hp.*.heap)
    numbered=$(count "$way"/hp_*.heap)
    echo "$way $*: $plain plain, $numbered with a number, $(grep -c Starting log) starts, $(grep -c Dumping log) dumps told"
}

run return
run vfork
run fork
run raw-fork
run fork-exec
run vfork-exec
run exec
run execvp
run execle
run exec-fails
export XPROF_DUMP_ON_EXEC=1
rm -r exec execvp execle vfork-exec exec-fails
run exec
run execvp
run execle
run vfork-exec
run exec-fails
