/* SPDX-License-Identifier: MIT */
/* object.h - the loaded object that holds an address.
 *
 * Layer preload. At start only: may take the loader's lock. */
#ifndef XP_PRELOAD_OBJECT_H
#define XP_PRELOAD_OBJECT_H

#include <link.h>

/* NULL: none. *ret_start: where its first segment is mapped; untouched without an object. */
const struct link_map *xp_object_of(const void *address, void **ret_start);

#endif
