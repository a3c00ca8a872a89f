# SPDX-License-Identifier: MIT
# Every workload runs under the C library's malloc and under ours and prints a figure that can be one.
need python3
python3 "$SRC/tests/bench/run" --build "$BUILD" -w own,s -a glibc -a "ours=$XPROF_SO" --rounds 1 --seconds 0.1 \
    --json runs.json >table 2>log || {
    cat log table >&2
    fail "the driver's status"
}
python3 - <<'END'
import json

runs = json.load(open("runs.json"))["runs"]
names = {run["workload"] for run in runs}
assert len(runs) == 2 * len(names) > 60, len(runs)
for run in runs:
    # What was given back may be nothing at all, or more than the start had.
    what = (run["workload"], run["allocator"], run["value"])
    assert run["value"] > 0 or run["workload"].startswith("giveback"), what
    assert run["ops"] > 0 and run["seconds"] > 0 and run["peak_mib"] > 1, what
END
check_line '^| churn1 | [0-9.]* Mops/s | [0-9.]* |$' table
check_line '^| [*]*geometric mean' table
