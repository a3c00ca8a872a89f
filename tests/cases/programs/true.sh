# SPDX-License-Identifier: MIT
# A program that does nothing, and one that fails, end as ever.
. "$SRC/tests/lib/program.sh"
PROGRAM_STATUS=1
same_as_plain sampled exact <<'END'
/bin/true
/bin/false
END
