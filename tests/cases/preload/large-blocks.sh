# SPDX-License-Identifier: MIT
# Whoever asks for a block beyond the limit is named, in every way and from before main on; the limit then is an
# eighth higher; a program that asks for none is not disturbed.
need addr2line

# SIZE FUNCTION...: who asked, outwards.
names()
{
    sed -n 's/^libxprof: large alloc \([0-9]*\) bytes == 0x\([0-9a-f]*\) @ /\1 \2 /p' "$1" |
        while read -r size block pcs; do
            [ "$size" -lt 10000000 ] || size=endless
            [ "$block" = 0 ] && size="$size NULL"
            # A return address is behind its call.
            for pc in $pcs; do
                printf '0x%x\n' $((pc - 1))
            done >pcs
            echo "$size $(addr2line -fC -e "$PROGRAMS/large_blocks" $(head -n 5 pcs) | sed -n 'p;n' |
                grep -v '??' | sed 's/(.*//' | grep -E '^(b[a-z]*_|in_|main|thread)' | tr '\n' ' ')"
        done
}

XPROF_LARGE_REPORT=1000003 preload "$PROGRAMS/large_blocks" 2>out
check_no_line -v '^libxprof: large alloc [0-9]* bytes == 0x[0-9a-f]* @\( 0x[0-9a-f]*\)\{2,31\}$' out
names out

echo alias:
TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=3600007 preload "$PROGRAMS/large_blocks" 2>out
names out

echo off:
preload "$PROGRAMS/large_blocks"
XPROF_LARGE_REPORT=0 preload "$PROGRAMS/large_blocks"
TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=-1 preload "$PROGRAMS/large_blocks"
XPROF_LARGE_REPORT=1 PERFTOOLS_VERBOSE=-1 preload "$PROGRAMS/large_blocks"

echo log:
XPROF_LARGE_REPORT=3600007 XPROF_LOG=$TMP/log preload "$PROGRAMS/large_blocks"
names log

# What the fast paths may serve is never looked at, whatever the limit.
echo small:
XPROF_LARGE_REPORT=1 preload sh -c : 2>out
check_no_line '^libxprof: large alloc [0-9]\{1,5\} ' out
