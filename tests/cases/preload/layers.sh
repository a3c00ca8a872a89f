# SPDX-License-Identifier: MIT
# Each layer of the allocator can be left out alone: its counters then stand still, and programs run as before.
. "$SRC/tests/lib/counters.sh"

run adopt
holds adopt 'core.adopted_heaps >= 21 and core.heaps <= 4'
run adopt XPROF_LAYERS=-adopt
holds adopt 'core.adopted_heaps == 0 and core.heaps >= 23'
run remote XPROF_LAYERS=-adopt
holds remote 'core.stolen_pages == 0'

run remote XPROF_SAMPLE_BYTES=0
holds remote '101 <= core.batched_frees <= core.remote_frees'
holds remote 'core.populate_calls >= 1 and core.populated_bytes >= 101 << 10'
run remote XPROF_LAYERS=-populate
holds remote 'core.populate_calls == 0'
run remote XPROF_SAMPLE_BYTES=0 XPROF_LAYERS=-batch
holds remote 'core.batched_frees == 0 and core.remote_frees >= 1000'

run medium XPROF_SAMPLE_BYTES=0
holds medium 'core.slow_medium <= 101'
run medium XPROF_SAMPLE_BYTES=0 XPROF_LAYERS=-mag
holds medium 'core.slow_medium >= 2003'

# Exact: 4006 small blocks, a medium one per thread.
run remote XPROF_SAMPLE_BYTES=1
holds remote 'core.samples >= 4006'
run remote XPROF_SAMPLE_BYTES=1 XPROF_LAYERS=-cut
holds remote 'core.samples <= 101'

# All of them at once, and a program that does a lot.
none=-mag,-batch,-adopt,-cut,-populate,-purge,-hugecache,-runcache
for layers in $none -mag -batch -adopt -cut -populate -purge -hugecache -runcache; do
    XPROF_LAYERS=$layers preload sh -c 'seq 20011 | sort -R | sort -n | cksum' >sum 2>&1
    check_same "$(seq 20011 | cksum)" "$(cat sum)" "XPROF_LAYERS=$layers"
done
