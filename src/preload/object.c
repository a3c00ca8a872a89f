/* SPDX-License-Identifier: MIT */
/* object.c - the loaded object that holds an address. */
#include "preload/object.h"

#include <dlfcn.h>
#include <stddef.h>

/* Since glibc 2.35. dladdr() would also search all symbols of the object for the nearest one, which
 * in libc takes longer than the rest of our start. */
#pragma weak _dl_find_object

const struct link_map *xp_object_of(const void *address, void **ret_start)
{
    struct dl_find_object found;
    Dl_info info;
    void *map = NULL;

    if (_dl_find_object != NULL) {
        if (_dl_find_object((void *)address, &found) != 0 || !found.dlfo_link_map)
            return NULL;
        *ret_start = found.dlfo_map_start;
        return found.dlfo_link_map;
    }
    if (!dladdr1(address, &info, &map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    *ret_start = info.dli_fbase;
    return map;
}
