#!/bin/bash
# SPDX-License-Identifier: MIT
# symbols.sh - what the library gives and takes: exported names, imported names, libraries it needs.
set -eu
. "$SRC/tests/lib/tap.sh"
cd "$SRC"
so=${XPROF_SO:-}
if [ ! -f "$so" ]; then
    claim "libxprof.so is built" 1
    tap_end
    exit
fi

# The names of the version script, one a line.
map_names()
{
    sed -e 's|/\*.*\*/||' -e 's|#.*||' src/xprof.map | tr '{};' '\n\n\n' | awk '
        /global:/ { on = 1; sub(/.*global:/, "") }
        /local:/ { on = 0 }
        on { gsub(/[[:space:]]/, ""); if ($0 != "") print }' | sort
}

exported()
{
    nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u
}

claim_none "exports are the names of src/xprof.map" "$(diff <(map_names) <(exported) |
    sed -n -e 's/^</only in the map:/p' -e 's/^>/only in the library:/p')"

claim_none "the map has no duplicates and no wildcards" "$(map_names | uniq -d; map_names | grep '[*?]' || true)"

imported()
{
    nm -D --undefined-only "$so" | awk '{ sub(/@.*/, "", $2); print $2 }' | sort -u
}

claim_none "imports are in tests/lint/imports.list" \
    "$(comm -23 <(imported) <(grep -v '^#' tests/lint/imports.list | awk 'NF { print $1 }' | sort -u))"

claim_none "imports.list has no name that is no longer used" \
    "$(comm -13 <(imported) <(grep -v '^#' tests/lint/imports.list | awk 'NF { print $1 }' | sort -u))"

claim_none "libc is all the library needs" "$(readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
    grep -vxE 'libc\.so\.6|ld-linux-x86-64\.so\.2' || true)"

claim_none "needs no symbol newer than glibc 2.36" "$(nm -D --undefined-only "$so" |
    sed -n 's/.*@GLIBC_2\.\([0-9]*\).*/\1 &/p' | awk '$1 > 36' || true)"

# Static TLS: what a dlopen of the library must find free in the loader's surplus.
tls=$(readelf -lW "$so" | awk '$1 == "TLS" { print $6 }')
claim "static TLS is 16 bytes at most" "$((${tls:-0} > 16))" "TLS segment: ${tls:-0} bytes"
claim_none "TLS is initial-exec: no relocation of another model" "$(readelf -rW "$so" | grep -E 'DTPMOD64|DTPOFF64|TLSDESC' || true)"

claim_none "no text relocations, no executable stack, all relocations read-only" "$(
    readelf -d "$so" | grep TEXTREL || true
    readelf -lW "$so" | awk '$1 == "GNU_STACK" && $7 ~ /E/'
    readelf -lW "$so" | grep -q GNU_RELRO || echo 'no RELRO')"

# The layers inside the victim: no allocator, no stdio, nothing that may call one.
forbidden='malloc|calloc|realloc|free|strdup|strndup|posix_memalign|aligned_alloc|memalign'
forbidden+='|v?f?printf|v?sn?printf|__\w*printf_chk|fopen|fdopen|fclose|fread|fwrite|fputs|puts|putchar|perror|stdout|stderr'
forbidden+='|getline|getdelim|opendir|readdir|closedir|getenv|secure_getenv|setlocale|strerror|strsignal|localtime|strftime'
forbidden+='|dl_iterate_phdr|backtrace|exit|atexit|qsort|syslog|log|exp|pow|pthread_mutex_lock|pthread_getspecific|abort'
for layer in base core capture profile format; do
    archive=$(find "$BUILD" -name "libxp_$layer.a" | head -n 1)
    if [ -z "$archive" ]; then
        claim "layer $layer: no malloc, no stdio" 1 "libxp_$layer.a is not built"
        continue
    fi
    case $layer in
    base) allowed=abort ;;
    capture) allowed='dl_iterate_phdr' ;; # before the first sample and in dumps, never in a capture
    *) allowed='-' ;;
    esac
    claim_none "layer $layer: no malloc, no stdio" "$(nm -A --undefined-only "$archive" 2>/dev/null |
        awk '{ print $NF, $1 }' | grep -E "^($forbidden) " | grep -vE "^($allowed) " || true)"
done

tap_end
