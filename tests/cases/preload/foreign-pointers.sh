# SPDX-License-Identifier: MIT
# What is no block of ours is told the first times and let be; libc's own blocks go back to libc;
# the program goes on.
for what in stack mapped libc double wild; do
    echo "$what:"
    preload "$PROGRAMS/malloc_foreign" $what 2>log
    sed 's/0x[0-9a-f]*/ADDRESS/' log
done
ulimit -c 0
check_status 134 env XPROF_STRICT=1 LD_PRELOAD="$XPROF_SO" "$PROGRAMS/malloc_foreign" double 2>log
grep libxprof log | sed 's/0x[0-9a-f]*/ADDRESS/'
