# SPDX-License-Identifier: MIT
# What the driver and the workloads cannot do they say in one line, with status 2.
need python3
run=$SRC/tests/bench/run

refused()
{
    status=0
    "$@" >out 2>err || status=$?
    check_same 2 $status "status of $*"
    check_same 0 "$(wc -c <out)" "bytes on stdout of $*"
    check_same 1 "$(wc -l <err)" "lines on stderr of $*"
    cat err
}

refused "$run"
refused "$run" --nonsense
refused "$run" -w churn1 --rounds many
refused "$run" --build "$BUILD"
refused "$run" --build "$TMP/none" -w churn1
refused "$run" --build "$BUILD" -w churn1,nosuch
refused "$run" --build "$BUILD" -w churn1 --rounds 0
refused "$run" --build "$BUILD" -w churn1 -a nameless
refused "$run" --build "$BUILD" -w churn1 -a name=/no/such.so
refused "$run" --build "$BUILD" -w churn1 -a 'name=none words'
refused "$run" --build "$BUILD" -w churn1 -a glibc -a glibc
refused "$run" --build "$BUILD" -w churn1 --peers "$TMP/none"
refused "$run" --from none.json
refused "$BUILD/tests/bench/bench_churn"
refused "$BUILD/tests/bench/bench_churn" fast
refused "$BUILD/tests/bench/bench_churn" 1 threads=0
refused "$BUILD/tests/bench/bench_churn" 1 colour=red
refused "$BUILD/tests/bench/bench_churn" 0.1 least=9 most=8
refused "$BUILD/tests/bench/bench_giveback" 1 how=quickly
refused "$BUILD/tests/bench/bench_account"
refused "$BUILD/tests/bench/bench_instructions" --nonsense
# A suite that is not there is no error, and is not passed over in silence.
"$run" --build "$BUILD" -w cfrac -a glibc
