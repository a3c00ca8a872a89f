# SPDX-License-Identifier: MIT
# A stripped program has the same names and lines as the whole one, wherever its debug file lies: next to it, in
# .debug/, in a debug folder by path, by build id; packed or not. A debug file that is not its own is not used.
need objcopy llvm-symbolizer-14 python3
g++ -O2 -g -pthread -o whole "$SRC/tests/cases/symbolize/shapes.cc"
nm whole | sed -n 's/^0*\([0-9a-f]*\) [tTwW] .*/0x\1/p' | awk '{print; print}' >addresses
objcopy --only-keep-debug whole whole.debug
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
tool=$PROGRAMS/symbolize_file
"$tool" whole <addresses >wanted 2>/dev/null

mkdir work
# strip_to DEBUG_NAME [OPTION...]: work/app, stripped, with a link to that name.
strip_to()
{
    rm -rf work/* work/.debug
    name=$1
    shift
    cp whole.debug "$name"
    objcopy --strip-all "$@" --add-gnu-debuglink="$name" whole work/app
}

check_found()
{
    "$tool" "$@" work/app <addresses >got 2>diagnosis || fail "status of $*"
    cmp -s wanted got || {
        diff wanted got | head -5 >&2
        cat diagnosis >&2
        fail "$what: not found"
    }
}

check_not_found()
{
    "$tool" "$@" work/app <addresses >got 2>diagnosis || fail "status of $*"
    ! grep -q 'shapes.cc' got || fail "$what: a wrong file was used"
    grep -q 'no debug file' diagnosis || fail "$what: no reason given"
}

what='next to it'
strip_to app.debug
check_not_found
mv app.debug work/app.debug
check_found

what='in .debug'
strip_to app.debug
mkdir work/.debug
mv app.debug work/.debug/
check_found

what='in a debug folder, by path'
strip_to app.debug
mkdir -p "dir/$TMP/work"
mv app.debug "dir/$TMP/work/"
check_found -debug_dir=dir
rm -rf dir

what='by build id'
strip_to app.debug
mkdir -p "dir/.build-id/$(echo "$id" | cut -c1-2)"
mv app.debug "dir/.build-id/$(echo "$id" | sed 's/^../&\//').debug"
check_found -debug_dir=dir
rm -rf dir

what='by checksum, without build ids'
objcopy --remove-section=.note.gnu.build-id whole.debug app.debug
strip_without_id()
{
    rm -rf work/*
    objcopy --strip-all --remove-section=.note.gnu.build-id --add-gnu-debuglink=app.debug whole work/app
}
strip_without_id
cp app.debug work/
check_found
echo >>work/app.debug
check_not_found

what='of another build'
g++ -O1 -g -pthread -o other "$SRC/tests/cases/symbolize/shapes.cc"
strip_to app.debug
objcopy --only-keep-debug other work/app.debug
check_not_found

what='packed'
for method in zlib zlib-gnu; do
    strip_to app.debug
    objcopy --compress-debug-sections=$method whole.debug work/app.debug
    check_found
done
if objcopy --compress-debug-sections=zstd whole.debug packed.debug 2>/dev/null; then
    strip_to app.debug
    mv packed.debug work/app.debug
    check_found
fi

what='the debug file alone'
strip_to app.debug
mkdir -p "dir/.build-id/$(echo "$id" | cut -c1-2)"
mv app.debug "dir/.build-id/$(echo "$id" | sed 's/^../&\//').debug"
"$tool" -debug_dir=dir -path=/gone/app whole <addresses >got 2>diagnosis
cmp -s wanted got || fail "$what: not used"
