// SPDX-License-Identifier: MIT
// malloc_semantics_cxx.cc - the same promises, asked by C++.
#include "malloc_semantics.c"
