# SPDX-License-Identifier: MIT
# The library is a program, too, and one that profiles nothing.
"$XPROF_SO"
"$XPROF_SO" --version
HEAPPROFILE=$TMP/hp "$XPROF_SO" --version
"$XPROF_SO" --options | cut -f 1 | head -n 2
check_status 1 sh -c '"$0" --version >/dev/full' "$XPROF_SO"
check_same 0 "$(count hp*)" dumps
