# SPDX-License-Identifier: MIT
# A C program opens a C++ library privately: bad_alloc comes out of our operator new, a throwing
# new-handler is heard, and exceptions stay with the compiler's unwinder.
for extra in XPROF_SAMPLE_BYTES=524288 XPROF_SAMPLE_BYTES=1 XPROF_UNWINDER=libunwind XPROF_VERIFY=1; do
    env "$extra" LD_PRELOAD="$XPROF_SO" "$PROGRAMS/cxx_late_host" "$PROGRAMS/cxx_late_library.so"
done
