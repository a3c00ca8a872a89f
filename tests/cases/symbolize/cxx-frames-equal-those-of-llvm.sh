# SPDX-License-Identifier: MIT
# Function, inlined functions, file and line of C++ code are those of llvm-symbolizer: gcc and clang,
# DWARF 4 and 5, PIE and not, with and without .debug_aranges.
need llvm-symbolizer-14 python3
source=$SRC/tests/cases/symbolize/shapes.cc
compare()
{
    "$@" -pthread -o "$TMP/shapes" "$source"
    "$SRC/tests/lib/compare-frames" "$PROGRAMS/symbolize_file" llvm-symbolizer-14 "$TMP/shapes" 4000 ||
        fail "$*"
}
compare g++ -O2 -gdwarf-5
compare g++ -O2 -gdwarf-4 -no-pie
compare g++ -O3 -gdwarf-5 -ffunction-sections -Wl,--gc-sections
compare g++ -O1 -gdwarf-5 -gz=zlib
if command -v clang++-14 >/dev/null; then
    compare clang++-14 -O2 -gdwarf-5
    compare clang++-14 -O2 -gdwarf-4 -no-pie
    compare clang++-14 -O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections
fi
