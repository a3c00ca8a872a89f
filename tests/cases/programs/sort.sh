# SPDX-License-Identifier: MIT
# Sorting a million lines, in threads.
. "$SRC/tests/lib/program.sh"
same_as_plain sampled verify often <<'END'
seq 1000000 | awk '{ print ($1 * 7919) % 1000003, "line", $1 }' >lines
sort --parallel=2 -S 64M -n lines | cksum
sort --parallel=2 -S 8M -T "$TMPDIR" lines | cksum
END
