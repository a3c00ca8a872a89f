# SPDX-License-Identifier: MIT
# Every allocation is recorded: counts and bytes of each site are exact.
"$SRC/tests/lib/check-truth" "$PROGRAMS/truth_victim" "$XPROF_SO" "$TMP" 1 3 3
