# SPDX-License-Identifier: MIT
# A program that can neither open libraries nor look for symbols keeps libc's table as it is in the file:
# not one page of it becomes the process's own, at a start as at a fork. (deepbind.sh has the others.)
private_of_libc() { # the dirty KiB of libc's read-only mappings in front of its code
    awk '/^[0-9a-f]+-/ { own = /libc\.so\.6/ && $2 == "r--p" && $3 == "00000000" } own && /^Private_Dirty/ { sum += $2 }
        END { print sum + 0 }' "$1"
}
cat /proc/self/smaps >plain
LD_PRELOAD=$XPROF_SO cat /proc/self/smaps >preloaded
[ "$(private_of_libc plain)" = 0 ] || fail "libc's table is private without the library"
grep -q libxprof preloaded || fail "the library is not there"
[ "$(private_of_libc preloaded)" = 0 ] || fail "libc's table is private: $(private_of_libc preloaded) KiB"
[ "$(grep -c 'libc\.so\.6' plain)" = "$(grep -c 'libc\.so\.6' preloaded)" ] || fail "libc has more mappings"
