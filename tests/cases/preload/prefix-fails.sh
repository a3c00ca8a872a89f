# SPDX-License-Identifier: MIT
# A dump that cannot be written costs a line; the program ends as it would have.
touch file
mkdir closed
for prefix in /does/not/exist/hp "$TMP/file/hp" /proc/hp /dev/full/hp "$TMP/$(printf '%0300d' 0)"; do
    check_status 7 env HEAPPROFILE="$prefix" LD_PRELOAD="$XPROF_SO" "$PROGRAMS/exit_ways" return 2>log
    sed 's/0\{300\}/LONG/' log
done
