# SPDX-License-Identifier: MIT
# dwz moves what units, and programs, have in common elsewhere: names and lines stay the same; without the common
# file the symbol table and the diagnosis remain.
need dwz g++
tool=$PROGRAMS/symbolize_file
source=$SRC/tests/cases/symbolize/shapes.cc
g++ -O2 -gdwarf-4 -pthread -o one "$source"
g++ -O1 -gdwarf-4 -pthread -o two "$source"
for program in one two; do
    nm $program | sed -n 's/^0*\([0-9a-f]*\) [tTwW] .*/\1/p' |
        python3 -c 'import sys
for line in sys.stdin:
    for step in range(0, 200, 7):
        print(hex(int(line, 16) + step))' >$program.asked
    "$tool" $program <$program.asked >$program.wanted 2>/dev/null
done
dwz -m common.dwz one two
for program in one two; do
    "$tool" $program <$program.asked >got 2>diagnosis
    cmp $program.wanted got || fail "$program after dwz"
done
rm common.dwz
"$tool" one <one.asked >got 2>diagnosis
check_line '^main$' got
check_line 'dwz' diagnosis
