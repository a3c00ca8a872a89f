# SPDX-License-Identifier: MIT
# fixtures.sh - every good file of the format is reported, every bad one refused in one line.
good=0
for file in "$SRC"/tests/fixtures/heap/good/*.heap; do
    "$HEAPREPORT" -raw "$file" >out 2>err || fail "$file is refused: $(cat err)"
    good=$((good + 1))
done
bad=0
for file in "$SRC"/tests/fixtures/heap/bad/*.heap; do
    check_status 2 "$HEAPREPORT" -raw "$file" >out 2>err
    check_same 0 "$(wc -c <out)" "bytes of output for $file"
    check_same 1 "$(wc -l <err)" "lines of complaint about $file"
    check_no_line "$(printf '\033')" err
    bad=$((bad + 1))
done
[ $good -ge 10 ] && [ $bad -ge 20 ] || fail "only $good good and $bad bad files"
