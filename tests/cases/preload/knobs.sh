# SPDX-License-Identifier: MIT
# Each knob of the allocator does what it says; gperftools' names do the same. XPROF_LAYERS has a
# case of its own.
. "$SRC/tests/lib/counters.sh"

# What eight threads keep together; they need not be at it at the same time.
run caches
holds caches 'core.cached_bytes >= 4 << 20'
for limit in XPROF_CACHE_MAX=1M TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1048576; do
    run caches $limit
    holds caches '300 << 10 <= core.cached_bytes <= 1 << 20'
done
run caches XPROF_CACHE_MAX=0
holds caches 'core.cached_bytes == 0'
run medium XPROF_SAMPLE_BYTES=0 XPROF_CACHE_MAX=64k
holds medium 'core.slow_medium <= 101'

# Address space, in MiB.
space()
{
    env "$@" LD_PRELOAD="$XPROF_SO" cat /proc/self/status | awk '$1 == "VmSize:" { print int($2 / 1024) }'
}
normal=$(space XPROF_RESERVE=0)
small=$(space XPROF_RESERVE=64M)
[ "$small" -ge 64 ] && [ "$small" -le 1000 ] || fail "XPROF_RESERVE=64M: $small MiB"
[ "$normal" -gt 4000 ] || skip "address space is short: $normal MiB"

# 47 MiB are freed. By age they go within half a second of light work, or after ten, or never; or at once.
run churn XPROF_DIRTY_MAX=1G
holds churn 'core.purged_bytes >= 40 << 20'
run churn XPROF_DIRTY_MAX=1G XPROF_PURGE_DELAY_MS=10000
holds churn 'core.purged_bytes == 0 and core.dirty_bytes >= 40 << 20'
run churn XPROF_DIRTY_MAX=1G TCMALLOC_RELEASE_RATE=0.01
holds churn 'core.purged_bytes == 0'
run churn XPROF_DIRTY_MAX=1G TCMALLOC_RELEASE_RATE=2
holds churn 'core.purged_bytes >= 40 << 20'
run churn XPROF_PURGE_DELAY_MS=never
holds churn 'core.purge_calls == 0 and core.dirty_bytes >= 40 << 20'
run churn TCMALLOC_RELEASE_RATE=0
holds churn 'core.purge_calls == 0'
run churn XPROF_LAYERS=-purge
holds churn 'core.purge_calls == 0'
run churn XPROF_PURGE_DELAY_MS=0
holds churn 'core.purged_bytes >= 40 << 20 and core.dirty_bytes <= 1 << 20'

# By amount, down to the half of what is allowed. (They take 61 MiB of whole slices.)
run churn XPROF_PURGE_DELAY_MS=10000 XPROF_DIRTY_MAX=23M
holds churn '36 << 20 <= core.purged_bytes <= 54 << 20 and 8 << 20 <= core.dirty_bytes <= 24 << 20'

# An idle program keeps what it freed last, unless a thread of ours looks after it.
check_same kept "$(IMPATIENT=1 run idle XPROF_DIRTY_MAX=1G)" 'without a thread'
check_same gone "$(run idle XPROF_DIRTY_MAX=1G XPROF_BG_THREAD=1)" 'with a thread'
holds idle 'core.purged_bytes >= 40 << 20'

# Huge pages.
if [ -e /sys/kernel/mm/transparent_hugepage/enabled ]; then
    check_same hg "$(run thp XPROF_THP=always)" 'XPROF_THP=always'
    check_same nh "$(run thp XPROF_THP=never)" 'XPROF_THP=never'
    check_same neither "$(run thp)" 'XPROF_THP=system'
fi

# A limit is an end, said once, and no more than that.
wanted='libxprof: the heap limit of 23 MiB is reached: allocations fail from here on'
for limit in XPROF_HEAP_LIMIT=23M TCMALLOC_HEAP_LIMIT_MB=23; do
    count=$(run fill-up $limit 2>said)
    case $count in
    1[89]' ENOMEM' | 2[0123]' ENOMEM') ;;
    *) fail "$limit: $count MiB" ;;
    esac
    check_same "$wanted" "$(cat said)" "what is said with $limit"
    holds fill-up 'core.refused >= 1'
done
check_same 100 "$(run fill-up XPROF_HEAP_LIMIT=1G)" 'a limit that is not reached'
check_same 100 "$(run fill-up)" 'no limit'
holds fill-up 'core.refused == 0'
