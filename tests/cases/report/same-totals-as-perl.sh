# SPDX-License-Identifier: MIT
# same-totals-as-perl.sh - totals equal those of gperftools' and jemalloc's pprof, scaled files included.
fixtures=$SRC/tests/fixtures/report
readers=
for reader in google-pprof jeprof; do
    ! command -v $reader >/dev/null || readers="$readers $reader"
done
[ -n "$readers" ] || skip "neither google-pprof nor jeprof"
export PPROF_TMPDIR=$TMP

our_total()
{
    "$HEAPREPORT" -symbolize=none -unit=B "$@" | sed -n 's/^Showing nodes .* of \([0-9]*\)B* total$/\1/p'
}

for file in "$fixtures"/*.heap; do
    case $file in
    *heapprofile.heap | *libxprof.heap) numbers='-inuse_space -inuse_objects -alloc_space -alloc_objects' ;;
    *) numbers='-inuse_space -inuse_objects' ;;
    esac
    # without the maps they need not look for names
    sed '/^MAPPED_LIBRARIES/,$d' "$file" >unmapped.heap
    for number in $numbers; do
        ours=$(our_total "$number" "$file")
        for reader in $readers; do
            # "Total: 123 B" or "Total: 123 objects"
            theirs=$($reader --text --show_bytes -$number /bin/true unmapped.heap 2>/dev/null | sed -n 's/^Total: \([0-9]*\) .*/\1/p')
            # fractions of a byte per row: they cut, we round
            [ -n "$theirs" ] && [ $((ours - theirs)) -le 1 ] && [ $((theirs - ours)) -le 1 ] ||
                fail "$number of ${file##*/}: $reader has '$theirs', we have '$ours'"
        done
    done
done
