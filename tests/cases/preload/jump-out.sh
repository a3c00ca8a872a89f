# SPDX-License-Identifier: MIT
# Handlers that left malloc by siglongjmp do not spoil what comes after: it has its stacks, all of it.
XPROF_SAMPLE_BYTES=1 HEAPPROFILE=$TMP/hp preload "$PROGRAMS/jump_out"
"$HEAPREPORT" -unit=B -nodecount=0 "$TMP/hp.0001.heap" >"$TMP/report"
check_line ' 1505903B .* after_the_storm' "$TMP/report"
nested=$(awk '$NF == "[[nested]]" { print int($1) }' "$TMP/report")
[ "${nested:-0}" -lt 50000 ] || fail "$nested bytes without a stack"
