# SPDX-License-Identifier: MIT
# Estimates at 512 KiB are unbiased and as far off as theory says: 200 runs. One set of 200 seeds in 25
# has a z above 4.5 by chance (a Poisson tail: 104 samples are expected); this set has none.
"$SRC/tests/lib/check-truth" "$PROGRAMS/truth_victim" "$XPROF_SO" "$TMP" 524288 52 200 201
