# SPDX-License-Identifier: MIT
# The hot entry points have no frame of their own and leave for their slow twins by a jump, so that
# the caller's registers are all a capture needs. No name of ours lies beside the exported ones.
need objdump
objdump -d --no-show-raw-insn "$XPROF_SO" >code
for name in malloc calloc free cfree free_sized __libc_malloc __libc_free _Znwm _Znam _ZnwmRKSt9nothrow_t \
    _ZdlPv _ZdaPv _ZdlPvm _ZdlPvSt11align_val_t; do
    sed -n "/^[0-9a-f]* <$name>:/,/^\$/p" code >function
    [ -s function ] || fail "no $name"
    check_line 'jmp .*_slow>' function
    check_no_line 'call \|%rbp\|sub .*,%rsp' function
    # calloc needs a register more; what it saved is back in place before it jumps.
    [ $name = calloc ] || check_no_line push function
done
nm "$XPROF_SO" | awk '$2 ~ /[Tt]/ { names[$1] = names[$1] " " $3 } END { for (a in names) print names[a] }' |
    grep -w 'malloc\|_Znwm\|realloc\|memalign' | sort
