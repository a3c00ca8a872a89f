#!/bin/bash
# SPDX-License-Identifier: MIT
# layers.sh - includes follow the layers of src/DESIGN.md: an arrow never points up.
set -eu
. "$SRC/tests/lib/tap.sh"
cd "$SRC"

# What a layer may include of ours: itself and what stands below it.
below()
{
    case $1 in
    base) echo base ;;
    format) echo format base ;;
    core) echo core base ;;
    capture) echo capture base ;;
    profile) echo profile capture core format base ;;
    leak) echo leak profile capture core format base ;;
    preload) echo preload leak profile capture core format base xprof.h ;;
    report) echo report format base ;;
    gperftools) echo gperftools xprof.h ;;
    *) echo "unknown-layer-$1" ;;
    esac
}

# The layer of a file: its folder, or for unit tests the first word of the name.
layer_of()
{
    case $1 in
    src/*/*) cut -d/ -f2 <<<"$1" ;;
    pprof-compat/*/*) cut -d/ -f2 <<<"$1" ;;
    tests/unit/*) basename "$1" | cut -d_ -f1 ;;
    esac
}

quoted_includes()
{
    sed -nE 's/^[[:blank:]]*#[[:blank:]]*include[[:blank:]]+"([^"]+)".*/\1/p' "$1"
}

findings=''
dotted=''
for file in src/*/*.[ch] pprof-compat/*/*.[ch] tests/unit/*.[ch]; do
    [ -f "$file" ] || continue
    layer=$(layer_of "$file")
    allowed=" $(below "$layer") "
    for include in $(quoted_includes "$file"); do
        house=${include%%/*}
        case $include in
        *../*) dotted+="$file: $include"$'\n' ;;
        esac
        case $file:$include in
        tests/unit/*:test.h) continue ;;
        tests/unit/*:*/*) ;;
        tests/unit/*:*) continue ;; # a header of the tests themselves
        esac
        case $allowed in
        *" $house "*) ;;
        *) findings+="$file ($layer) includes $include"$'\n' ;;
        esac
    done
done
claim_none "no include points up" "$findings"
claim_none "no include climbs out of its folder" "$dotted"

# door NAME PATTERN FILE... : only these files of src/ and pprof-compat/ may have a line like that.
door()
{
    local name=$1 pattern=$2
    shift 2
    claim_none "$name" "$(grep -rnE --include='*.[ch]' "$pattern" src pprof-compat 2>/dev/null |
        grep -vE '^[^:]+:[0-9]+:[[:blank:]]*(/?\*|//)' | while IFS=: read -r file line text; do
        for allowed; do
            # shellcheck disable=SC2254
            case $file in $allowed) continue 2 ;; esac
        done
        echo "$file:$line: $text"
    done)"
}

include='^[[:blank:]]*#[[:blank:]]*include[[:blank:]]*<'
door "system calls have one door" "$include(sys/syscall|linux/futex)\\.h>" src/base/os.c 'src/report/*'
door "libunwind has one door" "${include}libunwind" src/capture/reference.c
door "libdwarf has one door" "$include(libdwarf|libdwarf/)?(dwarf|libdwarf)\\.h>" 'src/report/dwarf*'
door "the environment is read by the option table only" '\b(secure_)?getenv *\(|\benviron\b' \
    src/preload/options.c 'src/preload/init.c' 'src/report/*' src/xprof.h
door "no stdio, locale or allocator header where the victim lives" \
    "$include(stdio|locale|wchar|malloc|math|syslog)\\.h>" 'src/report/*' 'src/preload/*' 'src/base/real.h'
door "the layers below preload do not print" '\b(f|v|vf|s|sn|vsn)?printf *\(' 'src/report/*' 'src/preload/*'

tap_end
