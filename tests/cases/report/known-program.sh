# SPDX-License-Identifier: MIT
# known-program.sh - functions, lines and numbers of a program whose allocations are known.
profile=
for library in /usr/lib/x86_64-linux-gnu/libtcmalloc.so.4; do
    [ -e "$library" ] || continue
    HEAPPROFILE=$TMP/gperftools LD_PRELOAD=$library "$PROGRAMS/report_victim" 2>/dev/null
    profile="$profile gperftools.0001.heap"
done
if [ -e "$XPROF_SO" ]; then
    HEAPPROFILE=$TMP/ours XPROF_SAMPLE_BYTES=1 preload "$PROGRAMS/report_victim" 2>/dev/null
    profile="$profile ours.0001.heap"
fi
[ -n "$profile" ] || skip "neither libxprof.so nor libtcmalloc.so.4"

# row FILE NAME FLAT CUM OPTION...: its two numbers in the table.
row()
{
    row_file=$1 row_name=$2 row_flat=$3 row_cum=$4
    shift 4
    "$HEAPREPORT" -trim=false -unit=B "$@" "$row_file" >table 2>err
    row_got=$(awk -v name="$row_name" '{ n = $6; for (i = 7; i <= NF; i++) n = n " " $i } n == name { print $1, $4 }' table)
    [ "$row_got" = "$row_flat $row_cum" ] || {
        cat table err >&2
        fail "$row_file: $row_name should have $row_flat $row_cum, has $row_got"
    }
}

line=$(grep -n 'malloc(size)' "$SRC/tests/programs/report_victim.c" | cut -d: -f1)
for file in $profile; do
    row $file hold 230245B 230245B
    row $file descend 3636B 3720B # recursion counts once
    row $file main 0 233881B
    row $file hold 35 35 -inuse_objects
    row $file churn 97873B 97873B -alloc_space
    row $file churn 97 97 -alloc_objects
    row $file main 0 230161B -ignore=descend
    row $file hold 84B 84B -focus=descend
    "$HEAPREPORT" -lines "$file" >table 2>err
    check_line "hold .*/tests/programs/report_victim.c:$line\$" table
    "$HEAPREPORT" -symbolize=fastlocal "$file" >table 2>err
    check_line ' hold$' table
    "$HEAPREPORT" -collapsed "$file" >table 2>err
    check_line ';main;hold 230161$' table
    check_line ';main;descend;descend;hold 7$' table
    # The entry point of the allocator is nobody's row.
    "$HEAPREPORT" -trim=false -alloc_space "$file" >table 2>err
    check_no_line ' \(malloc\|calloc\)$' table
    # Another program: told by the build id, or by the size of the code where there is none.
    check_status 2 "$HEAPREPORT" /bin/true "$file" 2>err
    check_line '^heapreport: /bin/true: not a file of this profile' err
    cp "$PROGRAMS/report_victim" renamed
    "$HEAPREPORT" ./renamed "$file" >table 2>err
    check_line ' hold$' table
done
