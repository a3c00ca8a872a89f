# SPDX-License-Identifier: MIT
# golden.sh - the reports of a small profile are these, to the byte, on every machine.
export TZ=UTC
cp "$SRC/tests/fixtures/report/libxprof.heap" app.0002.heap

show()
{
    echo "\$ heapreport $*"
    "$HEAPREPORT" -symbolize=none "$@"
}

show app.0002.heap
show -alloc_objects -cum app.0002.heap
show -addresses -nodecount=3 app.0002.heap
show -inuse_objects -focus=libxprof -ignore=no_such_module app.0002.heap
show -nodefraction=0.2 -unit=B app.0002.heap
show -trim=false -lines app.0002.heap
show -traces app.0002.heap
show -collapsed -addresses app.0002.heap
show -collapsed -alloc_space app.0002.heap
show -raw app.0002.heap
