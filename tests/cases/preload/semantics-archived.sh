# SPDX-License-Identifier: MIT
# The same promises for programs that were linked with libxprof.a.
for program in malloc_semantics_O0 malloc_semantics_O2 malloc_semantics_cxx_O0 \
    malloc_semantics_cxx_O2 cxx_operators_O0 cxx_operators_O2; do
    for distance in 524288 1; do
        echo "$program: $(XPROF_SAMPLE_BYTES=$distance "$PROGRAMS/${program}_archived")"
    done
    HEAPPROFILE=$TMP/$program "$PROGRAMS/${program}_archived" >/dev/null 2>log
    check_line 'Dumping heap profile to .*/'$program'.*heap (Exiting, .* in use)' log
done
