# SPDX-License-Identifier: MIT
# case.sh - what every case script may use; loaded by run-case before the script.

# For the script, not for the programs: the library would say that it knows no such variable.
case_so=$XPROF_SO
unset XPROF_SO
XPROF_SO=$case_so

# The claim does not hold: say why and stop.
fail()
{
    echo "FAILED: $*" >&2
    exit 1
}

# This machine cannot say (a tool is missing, we are root ...).
skip()
{
    echo "skipped: $*"
    exit 77
}

# skip unless each named program exists.
need()
{
    for need_tool in "$@"; do
        command -v "$need_tool" >/dev/null || skip "no $need_tool"
    done
}

# check_same WANTED GOT WHAT
check_same()
{
    [ "$1" = "$2" ] || fail "$3: wanted '$1', got '$2'"
}

# check_line PATTERN FILE: some line of the file matches the basic regular expression.
check_line()
{
    grep -q -e "$1" "$2" || {
        cat "$2" >&2
        fail "no line like '$1' in $2"
    }
}

# check_no_line PATTERN FILE
check_no_line()
{
    if grep -e "$1" "$2" >&2; then
        fail "a line like '$1' in $2"
    fi
}

# check_status WANTED COMMAND...: runs it; its streams are ours.
check_status()
{
    check_status_wanted=$1
    shift
    check_status_got=0
    "$@" || check_status_got=$?
    check_same "$check_status_wanted" "$check_status_got" "status of $*"
}

# preload COMMAND...: runs it with the library in front; other variables are set by the caller
# (HEAPPROFILE=$TMP/hp preload ./app).
preload()
{
    LD_PRELOAD=$XPROF_SO "$@"
}

# count GLOB...: how many of these files exist.
count()
{
    count_n=0
    for count_file in "$@"; do
        [ ! -e "$count_file" ] || count_n=$((count_n + 1))
    done
    echo $count_n
}

# totals FILE: the header's in-use objects, in-use bytes, allocated objects, allocated bytes.
totals()
{
    sed -n '1s/^heap profile: *\([0-9]*\): *\([0-9]*\) \[ *0*\([0-9][0-9]*\): *\([0-9]*\)\] @ heapprofile$/\1 \2 \3 \4/p' "$1"
}
