# SPDX-License-Identifier: MIT
# With -gsplit-dwarf the skeleton still gives lines, the symbol table names, and the diagnosis says what is missing.
need g++
g++ -O1 -g -gsplit-dwarf -pthread -o shapes "$SRC/tests/cases/symbolize/shapes.cc"
nm shapes | sed -n 's/^0*\([0-9a-f]*\) T main$/0x\1/p' >asked
"$PROGRAMS/symbolize_file" shapes <asked >got 2>diagnosis
check_same main "$(sed -n 1p got)" name
check_line 'shapes.cc:[1-9]' got
check_line 'split debug information' diagnosis
