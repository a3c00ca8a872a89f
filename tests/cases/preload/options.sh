# SPDX-License-Identifier: MIT
# What is wrong in the environment is told in one line each, and the program runs with the default.
ask()
{
    env "$@" LD_PRELOAD="$XPROF_SO" /bin/true
}
{
    ask XPROF_DEPTH=0
    ask XPROF_DEPTH=12x
    ask XPROF_SAMPLE_BYTES=-1
    ask XPROF_SAMPLE_BYTES=12q HEAP_PROFILE_INUSE_INTERVAL=99999999999999999999
    ask XPROF_UNWINDER=gdb
    ask HEAP_PROFILE_CLEANUP=maybe
    ask HEAPPROFILESIGNAL=usr1
    ask "XPROF_VERIFY=1
2"
    ask XPROF_DEPHT=64 XPROF_DEPTH=64
    ask HEAP_PROFILE_TIME_INTERVALL=60 HEAPPROFILE_SIGNAL=12
    ask HEAP_PROFILE_MMAP=1 HEAP_PROFILE_ONLY_MMAP=true
    echo silent:
    ask XPROF_DEPTH= XPROF_SAMPLE_BYTES=64k HEAP_PROFILE_INUSE_INTERVAL=1MiB XPROF_DIRTY_MAX=2G \
        HEAP_PROFILE_CLEANUP=yes HEAPPROFILE= PERFTOOLS_VERBOSE=1 XPROF_UNWINDER=own
    ask PERFTOOLS_VERBOSE=-1 XPROF_DEPTH=0
} 2>&1

# Suffixes mean what they say.
for size in 1 1k 4K 1M 524288; do
    XPROF_SAMPLE_BYTES=$size HEAPPROFILE=$TMP/hp$size preload /bin/true
    grep -a '^# interval' hp$size.0001.heap
done 2>/dev/null

# The table is what the manual describes.
"$XPROF_SO" --options | awk -F '\t' 'NF != 4 || $1 == "" || $3 == "" || $4 == "" { print "bad line: " $0 }'
for name in $("$XPROF_SO" --options | cut -f 1); do
    grep -q "Ev.*$name" "$SRC/man/libxprof.7" || echo "libxprof.7 does not know $name"
done
