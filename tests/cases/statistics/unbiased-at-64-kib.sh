# SPDX-License-Identifier: MIT
# Estimates at 64 KiB are unbiased and as far off as theory says: 200 runs of 36 sums.
"$SRC/tests/lib/check-truth" "$PROGRAMS/truth_victim" "$XPROF_SO" "$TMP" 65536 8 200
