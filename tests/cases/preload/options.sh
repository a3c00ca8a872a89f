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
    ask XPROF_CACHE_MAX=lots
    ask XPROF_PURGE_DELAY_MS=-1
    ask XPROF_DIRTY_MAX=8q
    ask XPROF_BG_THREAD=maybe
    ask XPROF_THP=huge
    ask XPROF_RESERVE=128T
    ask XPROF_HEAP_LIMIT=1.5G
    ask XPROF_LARGE_REPORT=-1
    ask XPROF_LAYERS=-mag,-tcache
    ask XPROF_LAYERS=mag
    ask XPROF_LAYERS=-mag,
    ask XPROF_STATS=json:
    ask TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=-1
    ask TCMALLOC_RELEASE_RATE=fast XPROF_PURGE_DELAY_MS=never
    ask TCMALLOC_HEAP_LIMIT_MB=1G
    ask TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=1G
    echo both:
    ask XPROF_CACHE_MAX=1M TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=2097152
    ask TCMALLOC_RELEASE_RATE=10 XPROF_PURGE_DELAY_MS=never
    ask TCMALLOC_HEAP_LIMIT_MB=64 XPROF_HEAP_LIMIT=1G
    ask XPROF_LARGE_REPORT=0 TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=300000
    ask XPROF_SAMPLE_BYTES=4096 TCMALLOC_SAMPLE_PARAMETER=0
    echo silent:
    ask XPROF_DEPTH= XPROF_SAMPLE_BYTES=64k HEAP_PROFILE_INUSE_INTERVAL=1MiB XPROF_DIRTY_MAX=2G \
        HEAP_PROFILE_CLEANUP=yes HEAPPROFILE= PERFTOOLS_VERBOSE=1 XPROF_UNWINDER=own
    ask XPROF_CACHE_MAX=unlimited XPROF_PURGE_DELAY_MS=never XPROF_BG_THREAD=0 XPROF_THP=never \
        XPROF_RESERVE=1G XPROF_HEAP_LIMIT=1G XPROF_LARGE_REPORT=1G XPROF_STATS=0 \
        XPROF_LAYERS=-mag,-batch,-adopt,-cut,-populate,-purge,-hugecache,-runcache
    ask TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=33554432 TCMALLOC_RELEASE_RATE=0.5 \
        TCMALLOC_HEAP_LIMIT_MB=4096 TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=-1 XPROF_THP=always
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
