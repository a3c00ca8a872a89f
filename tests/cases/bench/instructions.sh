# SPDX-License-Identifier: MIT
# The instructions of single calls are counted, and a fast path is a fast path also when it is
# stepped through.
"$BUILD/tests/bench/bench_instructions" "$XPROF_SO" >counts 2>err || {
    grep -q 'could not be stepped' err && skip "no ptrace here"
    cat err >&2
    fail "bench_instructions"
}
check_same 15 "$(wc -l <counts)" "calls"
"$BUILD/tests/bench/bench_instructions" >counts.glibc
check_same 15 "$(wc -l <counts.glibc)" "calls of the C library"

# median WORD...: of the call of that name
median()
{
    sed -n "s/^$* *least=[0-9]* median=\([0-9]*\) .*/\1/p" counts
}
# Twice what is wanted of a release build: a debug build is longer, a slow path is ten times that.
[ "$(median 'malloc(64)')" -gt 5 ] || fail "malloc(64) in $(median 'malloc(64)') instructions"
[ "$(median 'malloc(64)')" -lt 120 ] || fail "malloc(64) takes $(median 'malloc(64)') instructions"
[ "$(median 'free(64)')" -lt 120 ] || fail "free(64) takes $(median 'free(64)') instructions"
