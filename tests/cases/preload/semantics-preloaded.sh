# SPDX-License-Identifier: MIT
# The malloc family and operator new keep their promises, whatever is sampled.
for distance in 524288 1 0 4096; do
    for program in malloc_semantics_O0 malloc_semantics_O2 malloc_semantics_cxx_O0 \
        malloc_semantics_cxx_O2 cxx_operators_O0 cxx_operators_O2; do
        echo "$distance $program: $(XPROF_SAMPLE_BYTES=$distance preload "$PROGRAMS/$program")"
    done
done
