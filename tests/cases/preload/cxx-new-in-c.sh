# SPDX-License-Identifier: MIT
# operator new without memory and without a C++ library: a message and an abort, not a NULL that
# nobody looks for.
ulimit -c 0
status=0
preload "$PROGRAMS/cxx_new_in_c" 2>log || status=$?
check_same 134 $status "status"
check_line '^libxprof: operator new has no memory, and no C++ library throws bad_alloc; bytes 0x7fffffffffffefff$' log
