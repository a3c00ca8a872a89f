/* SPDX-License-Identifier: MIT */
/* cxx.h - the C++ runtime, which may be absent, present, or come later.
 *
 * Layer preload. We link with no C++ library; what is needed is found when memory has run out. */
#ifndef XP_PRELOAD_CXX_H
#define XP_PRELOAD_CXX_H

#include "base/compiler.h"

typedef void (*xp_new_handler)(void);

/* What std::set_new_handler() left, or NULL. */
xp_new_handler xp_cxx_new_handler(void);

/* Throws std::bad_alloc; without a C++ library there is nobody to catch it: aborts. size is told.
 */
_Noreturn void xp_cxx_throw_bad_alloc(size_t size);

/* The C++ library's own function of that mangled name, past ours; NULL if there is none. */
void *xp_cxx_library_function(const char *name);

#endif
