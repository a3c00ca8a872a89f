# SPDX-License-Identifier: MIT
# same-as-go-pprof.sh - reports of recorded profiles equal those of Go's pprof byte by byte.
need go
go tool pprof -h 2>/dev/null || [ $? -eq 2 ] || skip "no go tool pprof"
export PPROF_TMPDIR=$TMP HOME=$TMP TZ=UTC
fixtures=$SRC/tests/fixtures/report

# same FILE OPTION... ; what only we know of a file of ours is left out of the comparison.
same()
{
    file=$1
    shift
    go tool pprof "$@" -symbolize=none "$file" >go.out 2>go.err || {
        cat go.err >&2
        fail "go tool pprof $* $file"
    }
    "$HEAPREPORT" "$@" -symbolize=none "$file" >raw.out
    sed '/^Build ID: /d; /^Time: /d' raw.out >our.out
    cmp -s go.out our.out || {
        diff -u go.out our.out | head -40 >&2
        fail "heapreport $* ${file##*/} is not pprof's"
    }
}

# Each table by each number that Go gives for the file.
tables()
{
    file=$1
    shift
    for number; do
        for rows in -functions -lines -addresses; do
            same "$file" -top "$number" $rows
            same "$file" -top "$number" $rows -cum
        done
        same "$file" -top "$number" -addresses -nodecount=3
        same "$file" -top "$number" -addresses -nodefraction=0.3 -cum
        same "$file" -top "$number" -addresses -trim=false
        same "$file" -top "$number" -addresses -unit=auto
        same "$file" -top "$number" -focus=libc
        same "$file" -top "$number" -ignore=victim
        same "$file" -top "$number" -focus='(sym|sampled|app)$' -ignore=libtc
        same "$file" -traces "$number" -addresses
        same "$file" -traces "$number"
    done
}

tables "$fixtures/gperftools-heapprofile.heap" -inuse_space -inuse_objects -alloc_space -alloc_objects
tables "$fixtures/libxprof.heap" -inuse_space -inuse_objects -alloc_space -alloc_objects
tables "$fixtures/gperftools-growth.heap" -inuse_space -inuse_objects
same "$fixtures/gperftools-heapprofile.heap" -raw
same "$fixtures/gperftools-growth.heap" -raw
# Go cuts the estimate of each row of a sampled file to a whole number; bytes agree to the digits shown.
same "$fixtures/gperftools-heap_v2.heap" -top
same "$fixtures/gperftools-heap_v2.heap" -top -cum -nodecount=2
