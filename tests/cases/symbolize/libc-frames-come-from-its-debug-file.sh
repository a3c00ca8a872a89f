# SPDX-License-Identifier: MIT
# libc6-dbg is found by build id without being asked for, and read as llvm-symbolizer reads it.
need llvm-symbolizer-14 python3
libc=$(ldd /bin/sh | sed -n 's/.*libc\.so\.6 => \([^ ]*\) .*/\1/p')
id=$(readelf -n "$libc" | sed -n 's/.*Build ID: //p')
debug=/usr/lib/debug/.build-id/$(echo "$id" | sed 's/^../&\//').debug
[ -e "$debug" ] || skip "no libc6-dbg"
"$SRC/tests/lib/compare-frames" "$PROGRAMS/symbolize_file" llvm-symbolizer-14 "$libc" 6000 "$debug"
