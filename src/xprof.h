/* SPDX-License-Identifier: MIT */
/* xprof.h - dump the heap profile from a program's own code.
 *
 * The program needs no library to build or to run: when libxprof.so is not loaded, every function
 * answers -ENOSYS (or NULL) and does nothing else. Programs that are linked with it (-lxprof or
 * libxprof.a) may define XPROF_LINKED first and call it directly.
 *
 * All functions may be called from any thread, not from signal handlers. */
#ifndef XPROF_H
#define XPROF_H

#ifdef __cplusplus
extern "C" {
#endif

/* What the library exports as xprof_table. Later versions add members at the end; size, in bytes,
 * tells which there are. */
struct xprof_table {
    unsigned long size;
    const char *(*version)(void);
    int (*dump)(const char *reason);
};

#ifdef XPROF_LINKED

extern const struct xprof_table xprof_table;

/* The library's version, such as "0.1.0". */
const char *xprof_version(void);

/* Writes the heap profile to the next file under HEAPPROFILE. reason is one line of text for the
 * file and the log; NULL is no reason. 0; -ENOENT when HEAPPROFILE is not set; -ENOTSUP when
 * profiling is off in this process; or the -errno of the file. */
int xprof_dump(const char *reason);

#else

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/* Looked up once per source file; a library that comes later is found then. */
static inline const struct xprof_table *xprof_find_table_(void)
{
    static const struct xprof_table *table;

    if (!table) /* NULL is RTLD_DEFAULT, which needs _GNU_SOURCE */
        table = (const struct xprof_table *)dlsym(NULL, "xprof_table");
    return table;
}

/* The library's version, such as "0.1.0"; NULL when it is not loaded. */
static inline const char *xprof_version(void)
{
    const struct xprof_table *table = xprof_find_table_();
    return table ? table->version() : NULL;
}

/* Writes the heap profile to the next file under HEAPPROFILE. reason is one line of text for the
 * file and the log; NULL is no reason. 0; -ENOSYS when libxprof is not loaded; -ENOENT when
 * HEAPPROFILE is not set; -ENOTSUP when profiling is off in this process; or the -errno of the
 * file. */
static inline int xprof_dump(const char *reason)
{
    const struct xprof_table *table = xprof_find_table_();
    return table ? table->dump(reason) : -ENOSYS;
}

#endif

#ifdef __cplusplus
}
#endif

#endif
