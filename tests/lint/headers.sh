#!/bin/bash
# SPDX-License-Identifier: MIT
# headers.sh - every header compiles alone; the public ones in any C and C++, without a warning.
set -eu
. "$SRC/tests/lib/tap.sh"
cd "$SRC"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

public=$(ls src/xprof.h pprof-compat/gperftools/*.h 2>/dev/null || true)
claim "there is a public header" "$([ -n "$public" ]; echo $?)"
for header in $public; do
    for mode in 'c -std=c99' 'c -std=c11 -D_GNU_SOURCE' 'c -std=c17' 'c++ -std=c++98' 'c++ -std=c++11' 'c++ -std=c++17' \
        'c -std=c11 -DXPROF_LINKED' 'c++ -std=c++17 -DXPROF_LINKED'; do
        read -r language flags <<<"$mode"
        for compiler in gcc clang-14; do
            command -v $compiler >/dev/null || continue
            # Twice: the guard holds. -fsyntax-only: nothing must be linked.
            printf '#include "%s"\n#include "%s"\nint unused_unit;\n' "${header##*/}" "${header##*/}" >"$work/alone.$language"
            claim_none "${header##*/} alone, $compiler $mode" "$($compiler -x "$language" $flags -Wall -Wextra -Wpedantic \
                -Wshadow -Wundef -Wconversion -Werror -fsyntax-only -I"${header%/*}" "$work/alone.$language" 2>&1 || true)"
        done
    done
done

for header in src/*/*.h pprof-compat/format/*.h; do
    printf '#include "%s"\nint unused_unit;\n' "${header#*/}" >"$work/alone.c"
    claim_none "${header#*/} alone" "$(gcc -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-function -fsyntax-only \
        -Isrc -Ipprof-compat "$work/alone.c" 2>&1 || true)"
done

for header in src/*/*.h pprof-compat/*/*.h; do
    [ -f "$header" ] || continue
    guard=$(sed -nE 's/^#ifndef ([A-Z0-9_]+)$/\1/p' "$header" | head -n 1)
    wanted=$(tr 'a-z./-' 'A-Z___' <<<"${header#*/}")
    case $guard in
    *"$wanted") ;;
    *) bad+="$header: $guard"$'\n' ;;
    esac
done
claim_none "guards are named after their file" "${bad:-}"

tap_end
