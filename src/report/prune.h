/* SPDX-License-Identifier: MIT */
/* prune.h - takes the allocator's own frames off the leaf end of every stack.
 *
 * Layer report; uses model. After symbolize: frames are known by their names, those of
 * libxprof.so by their place. */
#ifndef HR_REPORT_PRUNE_H
#define HR_REPORT_PRUNE_H

#include "report/model.h"

/* Of each stack, the outermost allocator frame that has a user's frame above it is dropped with
 * everything below it. Inlined allocator frames go too. */
int hr_prune(struct hr_model *model);

/* True for the name of an allocator's entry point or of its insides, demangled or not. */
bool hr_is_allocator(const char *function);

#endif
