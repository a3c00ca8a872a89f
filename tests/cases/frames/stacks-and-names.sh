# SPDX-License-Identifier: MIT
# The stacks of clang, python3, node and our examples are those of libunwind, and the names of their frames are
# those of llvm-symbolizer: at least a thousand samples each.
need clang-14 /usr/bin/python3 node llvm-symbolizer-14 readelf c++filt

cat >two.cc <<'END'
#include <map>
#include <regex>
#include <string>
int main()
{
    std::map<std::string, int> m;
    std::string s = "a=1 b=22 ccc=333";
    std::regex r("([a-z]+)=([0-9]+)");
    for (std::sregex_iterator i(s.begin(), s.end(), r), e; i != e; ++i)
        m[(*i)[1]] = std::stoi((*i)[2]);
    return (int)m.size();
}
END
cat >work.py <<'END'
import json
rows = [{'id': i, 'name': 'row %d' % i, 'values': [str(i + k) for k in range(7)]} for i in range(2003)]
for _ in range(3):
    assert len(json.loads(json.dumps(rows))) == 2003
END
cat >work.js <<'END'
const { Worker, isMainThread } = require('worker_threads');
if (isMainThread) {
    for (let i = 0; i < 3; i++) new Worker(__filename);
} else {
    const crypto = require('crypto');
    let rows = [];
    for (let i = 0; i < 5003; i++)
        rows.push({ i, s: 'row ' + i, h: crypto.createHash('sha256').update('x' + i).digest('hex') });
    if (JSON.parse(JSON.stringify(rows)).length != 5003) process.exit(1);
}
END

# profile NAME DISTANCE COMMAND...: at least 1000 stacks, each taken twice, all alike.
profile()
{
    frames_name=$1
    frames_distance=$2
    shift 2
    mkdir "$frames_name"
    XPROF_SAMPLE_BYTES=$frames_distance XPROF_VERIFY=1 HEAPPROFILE=$TMP/$frames_name/hp XPROF_SEED=23 \
        preload "$@" >/dev/null 2>"$frames_name/log" || {
        cat "$frames_name/log"
        fail "$frames_name"
    }
    frames_verified=$(sed -n 's/^# verified \([0-9]*\) differ 0$/\1/p' "$frames_name"/hp*.heap | sort -n | tail -n 1)
    grep -h '^# verified' "$frames_name"/hp*.heap | sed "s/^# /$frames_name: /"
    [ "${frames_verified:-0}" -ge 1000 ] || fail "$frames_name: ${frames_verified:-no} equal stacks, wanted 1000"
    check_no_line '^# verified [0-9]* differ [1-9]' "$frames_name/log"
    if grep -h '^# verified [0-9]* differ [1-9]' "$frames_name"/hp*.heap; then
        fail "$frames_name: stacks differ"
    fi
}

# names NAME PATTERN: the frames in the modules that match, as llvm-symbolizer has them.
names()
{
    mkdir "$1/modules"
    names_total=$("$SRC/tests/lib/dump-addresses" "$1/modules" "$2" "$1"/hp*.heap)
    [ "$names_total" -gt 20 ] || fail "$1: only $names_total addresses"
    for names_list in "$1"/modules/*.addresses; do
        names_path=$(cat "${names_list%.addresses}.path")
        names_id=$(readelf -n "$names_path" | sed -n 's/.*Build ID: //p')
        names_debug=/usr/lib/debug/.build-id/$(echo "$names_id" | sed 's/^../&\//').debug
        [ -e "$names_debug" ] || names_debug=$names_path
        echo "$1: $names_path"
        "$SRC/tests/lib/compare-frames" "$PROGRAMS/symbolize_file" llvm-symbolizer-14 "$names_path" \
            "@$names_list" "$names_debug" || fail "$1: $names_path"
    done
}

profile clang 16384 /usr/lib/llvm-14/bin/clang -cc1 -triple x86_64-pc-linux-gnu -emit-obj -O1 -fcxx-exceptions -fexceptions \
    $(clang-14 -### -xc++ two.cc -c 2>&1 | tr ' ' '\n' | sed -n '/isystem"$/,+1p' | tr -d '"') -x c++ -o /dev/null two.cc
profile python 512 /usr/bin/python3 work.py
profile node 4096 "$(command -v node)" work.js
profile orders 65536 "$BUILD/examples/orders"
names clang '/(clang|libLLVM|libclang|libstdc|libc\.so)'
names python '/(python3|libc\.so)'
names node '/(node|libnode|libc\.so)'
names orders '/(orders|libstdc|libc\.so)'
