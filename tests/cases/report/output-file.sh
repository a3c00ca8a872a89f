# SPDX-License-Identifier: MIT
# output-file.sh - a report replaces its file when it is whole, and not otherwise.
good=$SRC/tests/fixtures/report/libxprof.heap
"$HEAPREPORT" -symbolize=none "$good" >wanted
"$HEAPREPORT" -symbolize=none -o report "$good" >out
check_same 0 "$(wc -c <out)" "bytes on stdout"
cmp wanted report || fail "the file is not the report"

echo old >report
check_status 2 "$HEAPREPORT" -o report missing.heap 2>/dev/null
check_same old "$(cat report)" "the file after a failure"
status=0
message=$(
    ulimit -f 0
    trap '' XFSZ
    "$HEAPREPORT" -symbolize=none -o report "$good" 2>&1
) || status=$?
check_same 2 $status "status with a full disk"
check_same 'heapreport: report: cannot write: File too large' "$message" "what is said then"
check_same old "$(cat report)" "the file after a full disk"
check_same "$(printf 'out\nreport\nwanted')" "$(ls)" "what is left over"

cp "$good" input.heap
ln -s input.heap link
status=0
message=$("$HEAPREPORT" -symbolize=none -o link input.heap 2>&1) || status=$?
check_same 2 $status "status when the report would replace its profile"
check_same 'heapreport: link: is read for this report; -o wants another file' "$message" "what is said then"
cmp "$good" input.heap || fail "the profile was replaced"
rm link input.heap

ln -s report link
"$HEAPREPORT" -symbolize=none -output=link "$good"
[ -L link ] || fail "the link was replaced"
cmp wanted report || fail "the link's target is not the report"
"$HEAPREPORT" -symbolize=none -o /dev/stdout "$good" | cmp - wanted || fail "/dev/stdout"
