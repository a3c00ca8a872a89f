# SPDX-License-Identifier: MIT
# program.sh - runs a bash script plain and under the library, and wants no difference. To be sourced
# by a case.
#
# same_as_plain MODE... <<'END' ... END
#
# The script on stdin runs in an empty folder that holds copies of what lies in $TMP/input, first
# plain, then once for each mode; everything it starts is under the library too. Stdout, exit status
# and stderr (but for the two lines that dumps announce themselves with) must be those of the plain
# run: what differs from run to run is the script's to filter. The dumps are read by all readers.
#
# Modes: sampled (as users run it), exact (every allocation), verify (each stack is compared with
# libunwind's, which must agree), often (sampled often, many dumps).

program_env()
{
    case $1 in
    sampled) echo ;;
    exact) echo XPROF_SAMPLE_BYTES=1 ;;
    verify) echo XPROF_SAMPLE_BYTES="${PROGRAM_VERIFY_BYTES:-16384}" XPROF_VERIFY=1 ;;
    often) echo XPROF_SAMPLE_BYTES=65536 HEAP_PROFILE_ALLOCATION_INTERVAL=50000000 ;;
    *) fail "no mode $1" ;;
    esac
}

# Lines of ours, whoever's stderr they went to.
program_filter()
{
    sed -E -e '/^Starting tracking the heap$/d' -e '/^Dumping heap profile to .* \(.*\)$/d' "$1"
}

# program_run NAME VARIABLE=VALUE... : the script in a folder of its own; streams and status beside it.
program_run()
{
    program_name=$1
    shift
    mkdir -p "$TMP/$program_name/work" "$TMP/$program_name/tmp" "$TMP/$program_name/dumps"
    [ ! -d "$TMP/input" ] || cp -a "$TMP/input/." "$TMP/$program_name/work"
    program_status=0
    (
        cd "$TMP/$program_name/work"
        exec env HOME="$TMP/$program_name/work" TMPDIR="$TMP/$program_name/tmp" "$@" bash "$TMP/script"
    ) >"$TMP/$program_name/stdout" 2>"$TMP/$program_name/stderr" </dev/null || program_status=$?
    echo $program_status >"$TMP/$program_name/status"
    for program_stream in stdout stderr; do
        sed -e "s|$TMP/$program_name/|FOLDER/|g" "$TMP/$program_name/$program_stream" >"$TMP/$program_name/$program_stream.named"
    done
    program_filter "$TMP/$program_name/stderr.named" >"$TMP/$program_name/stderr.theirs"
}

same_as_plain()
{
    [ -f "$XPROF_SO" ] || fail "no library $XPROF_SO"
    cat >"$TMP/script"
    program_run plain
    [ "$(cat "$TMP/plain/status")" = "${PROGRAM_STATUS:-0}" ] || {
        cat "$TMP/plain/stdout" "$TMP/plain/stderr"
        fail "the script failed without the library: status $(cat "$TMP/plain/status")"
    }
    program_bad=0
    for program_mode; do
        # Words on purpose: each is one VARIABLE=VALUE.
        # shellcheck disable=SC2046
        program_run "$program_mode" LD_PRELOAD="$XPROF_SO" HEAPPROFILE="$TMP/$program_mode/dumps/hp" $(program_env "$program_mode")
        for program_what in status stdout.named stderr.theirs; do
            cmp -s "$TMP/plain/$program_what" "$TMP/$program_mode/$program_what" || {
                program_bad=1
                echo "$program_mode: ${program_what%.*} differs (- plain, + under the library):"
                diff -a "$TMP/plain/$program_what" "$TMP/$program_mode/$program_what" | head -n 40
            }
        done
        if [ "$(count "$TMP/$program_mode"/dumps/hp*.heap)" = 0 ]; then
            program_bad=1
            echo "$program_mode: no dump"
            continue
        fi
        # Nothing unfinished lies about.
        program_rest=$(find "$TMP/$program_mode/dumps" -type f ! -name 'hp*.[0-9][0-9][0-9][0-9].heap' | head -n 5)
        [ -z "$program_rest" ] || {
            program_bad=1
            echo "$program_mode: left beside the dumps: $program_rest"
        }
        program_slow=1
        [ "$program_mode" != sampled ] || program_slow=2
        printf '%s: ' "$program_mode"
        "$SRC/tests/lib/read-dumps" --slow "$program_slow" "$TMP/$program_mode"/dumps/hp*.heap || program_bad=1
        if [ "$program_mode" = verify ]; then
            program_differs=$(grep -ahE '^# (verified .* differ [1-9]|difference )' "$TMP/$program_mode"/dumps/hp*.heap | head -n 8 || true)
            grep -aqE '^# verified [1-9]' "$TMP/$program_mode"/dumps/hp*.heap || program_differs='no stack was verified'
            [ -z "$program_differs" ] || {
                program_bad=1
                echo "verify: stacks that libunwind sees otherwise:"
                echo "$program_differs"
            }
        fi
    done
    [ $program_bad = 0 ] || fail "not the same as without the library"
}
