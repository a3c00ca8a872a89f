# SPDX-License-Identifier: MIT
# The same for Rust: generics, closures, functions folded by the compiler.
need llvm-symbolizer-14 python3 rustc
rustc -O -g -o "$TMP/shapes" "$SRC/tests/cases/symbolize/shapes.rs"
"$SRC/tests/lib/compare-frames" "$PROGRAMS/symbolize_file" llvm-symbolizer-14 "$TMP/shapes" 4000
