# SPDX-License-Identifier: MIT
# Estimates at 512 KiB are unbiased and as far off as theory says: 200 runs.
"$SRC/tests/lib/check-truth" "$PROGRAMS/truth_victim" "$XPROF_SO" "$TMP" 524288 52 200
