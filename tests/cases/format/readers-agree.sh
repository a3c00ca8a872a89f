# SPDX-License-Identifier: MIT
# readers-agree.sh - google-pprof, jeprof, Go's pprof and heapreport read a dump with the same totals.
cat >job.py <<'END'
import json
kept = [json.loads('{"a": [1, 2, 3, "xyz%d"]}' % i) for i in range(20011)]
END
for distance in 1 65536; do
    mkdir dumps.$distance
    XPROF_SAMPLE_BYTES=$distance HEAPPROFILE=$PWD/dumps.$distance/hp LD_PRELOAD=$XPROF_SO \
        /usr/bin/python3 job.py 2>err
    "$SRC/tests/lib/read-dumps" --slow 1 dumps.$distance/*.heap || fail "at distance $distance"
done
