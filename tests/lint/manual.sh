#!/bin/bash
# SPDX-License-Identifier: MIT
# manual.sh - the man pages are well formed and name what the programs know, no more and no less.
set -eu
. "$SRC/tests/lib/tap.sh"
cd "$SRC"

pages=$(ls man/*.[1-8] 2>/dev/null || true)
claim "there are man pages" "$([ -n "$pages" ]; echo $?)"
for page in $pages; do
    claim_none "${page##*/}: mandoc -T lint" "$(mandoc -T lint -W warning "$page" 2>&1 || true)"
done

if [ ! -x "${HEAPREPORT:-}" ] || [ ! -f man/heapreport.1 ] || [ ! -f man/libxprof.7 ]; then
    claim "heapreport is built, heapreport.1 and libxprof.7 are there" 1
    tap_end
    exit
fi

# The flags of mdoc: .Fl and Fl macros, one word each.
page_flags()
{
    grep -E '^\.' "$1" | grep -oE '\bFl +[a-z][a-z0-9_-]*' | awk '{ print $2 }' | sort -u
}

help_flags()
{
    "$HEAPREPORT" --help | grep -oE '(^|[[:blank:],|])--?[a-z][a-z0-9_-]*' | sed -E 's/^[[:blank:],|]*-{1,2}//' | sort -u
}

claim_none "heapreport.1 names the flags of heapreport --help" "$(diff <(page_flags man/heapreport.1) <(help_flags) |
    sed -n -e 's/^</only in the page:/p' -e 's/^>/only in --help:/p')"

claim_none "heapreport --version is the project's" "$(
    wanted=$(sed -nE "s/^ *version: '([^']+)'.*/\\1/p" meson.build | head -n 1)
    "$HEAPREPORT" --version | grep -qF "$wanted" || "$HEAPREPORT" --version)"

variables='(HEAP_?PROFILE[A-Z_]*|HEAP_PROFILE_[A-Z_]+|HEAPCHECK|HEAP_CHECK_[A-Z_]+|XPROF_[A-Z][A-Z_]*)'
read_variables()
{
    grep -oE "\"$variables\"" src/preload/options.c | tr -d '"' | sort -u
}
page_variables()
{
    grep -oE "\\b$variables\\b" man/libxprof.7 | sort -u
}
claim_none "libxprof.7 names every variable of the option table" "$(comm -23 <(read_variables) <(page_variables))"
# The page may name what is not read: constants of the API, variables of other tools it explains.
claim_none "libxprof.7 heads no entry with a variable that is not read" "$(comm -13 <(read_variables) \
    <(grep -E '^\.It ' man/libxprof.7 | grep -oE "\\b$variables\\b" | sort -u))"

tap_end
