#!/bin/bash
# SPDX-License-Identifier: MIT
# files.sh - every text of the project has the house's form: heads, names, characters, layout.
set -eu
. "$SRC/tests/lib/tap.sh"
cd "$SRC"

# What is in the project; a release without git is its own list.
list()
{
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git -c safe.directory='*' ls-files --cached --others --exclude-standard
    else
        find . -path './build*' -prune -o -type f -print | sed 's|^\./||'
    fi | while read -r file; do
        [ ! -f "$file" ] || echo "$file"
    done
}

files=$(list)
code=$(grep -E '\.(c|h|cc|hh|cpp)$' <<<"$files")
scripts=$(for file in $files; do
    case $file in
    *.sh | *.py) echo "$file" ;;
    *.* | *Makefile) ;;
    *) ! head -c 2 "$file" | grep -q '^#!' || echo "$file" ;;
    esac
done)

claim_none "C files begin with the licence line" "$(for file in $code; do
    case $(head -n 1 "$file") in
    '/* SPDX-License-Identifier: MIT */' | '// SPDX-License-Identifier: MIT') ;;
    *) echo "$file" ;;
    esac
done)"

# The name of a unit test is its file's, and its claims say the rest.
claim_none "the second line of a C file names it and says what happens there" "$(for file in $code; do
    [ "${file#tests/unit/}" = "$file" ] || continue
    second=$(sed -n 2p "$file")
    case $second in
    "/* ${file##*/} - "?* | "// ${file##*/} - "?*) ;;
    *) echo "$file: $second" ;;
    esac
done)"

claim_none "scripts carry the licence line" "$(for file in $scripts; do
    head -n 3 "$file" | grep -qx '# SPDX-License-Identifier: MIT' || echo "$file"
done)"

claim_none "no file is a bag" "$(grep -E '(^|/)(utils?|misc|common|helpers)(\.|/|$|_)' <<<"$files" || true)"

claim_none "the top level holds what DESIGN.md names and nothing else" "$(sed 's|/.*||' <<<"$files" | sort -u |
    grep -vxE 'meson\.build|meson_options\.txt|README\.md|HACKING\.md|NEWS\.md|LICENSE|\.ci|src|pprof-compat|tests|examples|man|\.clang-format|\.editorconfig|\.gitattributes|\.gitignore' || true)"

# Recorded and hostile inputs are as they are.
ours=$(grep -vE '^tests/(fixtures|fuzz)/|\.(heap|png|gz|elf)$' <<<"$files")

claim_none "no line ends in blanks" "$(grep -nE '[[:blank:]]+$' $ours /dev/null | grep -vE '\.(stdout|stderr|glob|exact):' || true)"
claim_none "no carriage returns" "$(grep -lP '\r' $ours /dev/null || true)"
claim_none "files end with one newline" "$(for file in $ours; do
    [ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] || echo "$file"
done)"
claim_none "C files are indented with spaces" "$(grep -nP '^ *\t' $code /dev/null || true)"

# Prose may draw a frame or write a sign; code is plain ASCII.
claim_none "code and scripts are plain ASCII" "$(LC_ALL=C grep -nP '[^\x00-\x7F]' $code $scripts /dev/null || true)"
claim_none "prose has no invisible characters" \
    "$(LC_ALL=C.UTF-8 grep -nP '[\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2064}\x{FEFF}\x{00A0}]' $ours /dev/null || true)"

claim_none "nothing is left to do later" "$(grep -nwE 'TO''DO|FIX''ME|XX''X' $code $scripts /dev/null || true)"

format=$(command -v clang-format-14 || command -v clang-format || true)
if [ -n "$format" ] && "$format" --version | grep -q 'version 14\.'; then
    claim_none "C files are laid out by clang-format" "$("$format" --dry-run -Werror $code 2>&1 |
        sed -n 's/^\([^: ]*\):[0-9]*:[0-9]*: error:.*/\1/p' | uniq -c)"
else
    claim_skip "C files are laid out by clang-format" "clang-format 14 is not there"
fi

tap_end
