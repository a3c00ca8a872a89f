# SPDX-License-Identifier: MIT
# tap.sh - for checks written in bash: says what holds and what not, in TAP. To be sourced.

tap_count=0
tap_failures=0

# claim NAME STATUS [DETAILS] : one result line; details are shown when it does not hold.
claim()
{
    tap_count=$((tap_count + 1))
    if [ "$2" = 0 ]; then
        echo "ok $tap_count - $1"
        return
    fi
    tap_failures=$((tap_failures + 1))
    echo "not ok $tap_count - $1"
    [ -z "${3:-}" ] || printf '%s\n' "$3" | head -n 60 | sed 's/^/# /'
}

# claim_none NAME FINDINGS : holds when nothing was found.
claim_none()
{
    if [ -z "$2" ]; then claim "$1" 0; else claim "$1" 1 "$2"; fi
}

claim_skip()
{
    tap_count=$((tap_count + 1))
    echo "ok $tap_count - $1 # SKIP $2"
}

tap_end()
{
    echo "1..$tap_count"
    [ "$tap_failures" = 0 ]
}
