/* SPDX-License-Identifier: MIT */
/* operators.c - the C++ operators new and delete, by their mangled names.
 *
 * Written in C: exceptions of others pass through these frames (-fexceptions), we have none of our
 * own. Built without line tables, as malloc.c. */
#include <errno.h>

#include "base/bits.h"
#include "core/fast.h"
#include "preload/cxx.h"
#include "preload/entry.h"
#include "preload/flow.h"

struct nothrow; /* std::nothrow_t */

/* Tries, and lets the new-handler make room, until there is a block or an exception. */
XP_ALWAYS_INLINE void *new_flow(size_t size, size_t align, const struct xp_call *call)
{
    bool possible = align == 0 || xp_is_pow2(align);

    for (;;) {
        void *p = possible ? xp_flow_alloc(size, align, 0, call) : NULL;
        if (XP_LIKELY(p != NULL))
            return p;
        errno = ENOMEM;
        xp_new_handler handler = xp_cxx_new_handler();
        if (!handler)
            xp_cxx_throw_bad_alloc(size);
        handler();
    }
}

/* One try. If it fails and somebody has set a new-handler, which may throw, the C++ library's own
 * nothrow form goes on: it calls our throwing one and knows how to swallow exceptions. */
XP_ALWAYS_INLINE void *new_nothrow_flow(size_t size, size_t align, const struct xp_call *call)
{
    if (align != 0 && !xp_is_pow2(align))
        return NULL;
    return xp_flow_alloc(size, align, 0, call);
}

static void *nothrow_failed(const char *name, size_t size, const struct nothrow *tag)
{
    void *(*library)(size_t, const struct nothrow *) = NULL;

    errno = ENOMEM;
    if (xp_cxx_new_handler())
        library = (void *(*)(size_t, const struct nothrow *))xp_cxx_library_function(name);
    return library ? library(size, tag) : NULL;
}

static void *nothrow_aligned_failed(const char *name, size_t size, size_t align,
                                    const struct nothrow *tag)
{
    void *(*library)(size_t, size_t, const struct nothrow *) = NULL;

    errno = ENOMEM;
    if (xp_cxx_new_handler())
        library = (void *(*)(size_t, size_t, const struct nothrow *))xp_cxx_library_function(name);
    return library ? library(size, align, tag) : NULL;
}

#define THROWING(name, mangled, which)                                                             \
    XP_EXPORT void *name(size_t size) __asm__(#mangled);                                           \
    XP_OWN_LABEL(mangled);                                                                         \
    XP_SLOW_TWIN void *name##_slow(size_t size)                                                    \
    {                                                                                              \
        struct xp_call call = XP_CALL(mangled, which);                                             \
        return new_flow(size, 0, &call);                                                           \
    }                                                                                              \
    void *name(size_t size)                                                                        \
    {                                                                                              \
        void *p = xp_fast_alloc(size);                                                             \
        if (XP_LIKELY(p != NULL))                                                                  \
            return p;                                                                              \
        return name##_slow(size);                                                                  \
    }

#define NOTHROW(name, mangled, which)                                                              \
    XP_EXPORT void *name(size_t size, const struct nothrow *tag) __asm__(#mangled);                \
    XP_OWN_LABEL(mangled);                                                                         \
    XP_SLOW_TWIN void *name##_slow(size_t size, const struct nothrow *tag)                         \
    {                                                                                              \
        struct xp_call call = XP_CALL(mangled, which);                                             \
        void *p = new_nothrow_flow(size, 0, &call);                                                \
        return XP_LIKELY(p != NULL) ? p : nothrow_failed(#mangled, size, tag);                     \
    }                                                                                              \
    void *name(size_t size, const struct nothrow *tag)                                             \
    {                                                                                              \
        void *p = xp_fast_alloc(size);                                                             \
        if (XP_LIKELY(p != NULL))                                                                  \
            return p;                                                                              \
        return name##_slow(size, tag);                                                             \
    }

#define THROWING_ALIGNED(name, mangled, which)                                                     \
    XP_EXPORT void *name(size_t size, size_t align) __asm__(#mangled);                             \
    XP_OWN_LABEL(mangled);                                                                         \
    void *name(size_t size, size_t align)                                                          \
    {                                                                                              \
        struct xp_call call = XP_CALL(mangled, which);                                             \
        return new_flow(size, align, &call);                                                       \
    }

#define NOTHROW_ALIGNED(name, mangled, which)                                                      \
    XP_EXPORT void *name(size_t size, size_t align, const struct nothrow *tag) __asm__(#mangled);  \
    XP_OWN_LABEL(mangled);                                                                         \
    void *name(size_t size, size_t align, const struct nothrow *tag)                               \
    {                                                                                              \
        struct xp_call call = XP_CALL(mangled, which);                                             \
        void *p = new_nothrow_flow(size, align, &call);                                            \
        return XP_LIKELY(p != NULL) ? p : nothrow_aligned_failed(#mangled, size, align, tag);      \
    }

THROWING(new_one, _Znwm, XP_ENTRY_NEW)
THROWING(new_array, _Znam, XP_ENTRY_NEW_ARRAY)
NOTHROW(new_one_nothrow, _ZnwmRKSt9nothrow_t, XP_ENTRY_NEW)
NOTHROW(new_array_nothrow, _ZnamRKSt9nothrow_t, XP_ENTRY_NEW_ARRAY)
THROWING_ALIGNED(new_one_aligned, _ZnwmSt11align_val_t, XP_ENTRY_NEW_ALIGNED)
THROWING_ALIGNED(new_array_aligned, _ZnamSt11align_val_t, XP_ENTRY_NEW_ARRAY_ALIGNED)
NOTHROW_ALIGNED(new_one_aligned_nothrow, _ZnwmSt11align_val_tRKSt9nothrow_t, XP_ENTRY_NEW_ALIGNED)
NOTHROW_ALIGNED(new_array_aligned_nothrow, _ZnamSt11align_val_tRKSt9nothrow_t,
                XP_ENTRY_NEW_ARRAY_ALIGNED)

/* Delete: one deed under twelve names. Size and alignment are what the compiler believes; a block
 * knows its own. */
XP_SLOW_TWIN void delete_slow(void *p)
{
    if (p && !xp_remote_free(p))
        xp_flow_free(p);
}

#define DELETE_BODY(p)                                                                             \
    {                                                                                              \
        if (XP_LIKELY(xp_fast_free(p)))                                                            \
            return;                                                                                \
        delete_slow(p);                                                                            \
    }

/* The arguments after the first are in registers that nobody looks at. */
#define DELETE(name, mangled)                                                                      \
    XP_EXPORT void name(void *p) __asm__(#mangled);                                                \
    void name(void *p) DELETE_BODY(p)

DELETE(delete_one, _ZdlPv)
DELETE(delete_array, _ZdaPv)
DELETE(delete_one_sized, _ZdlPvm)
DELETE(delete_array_sized, _ZdaPvm)
DELETE(delete_one_nothrow, _ZdlPvRKSt9nothrow_t)
DELETE(delete_array_nothrow, _ZdaPvRKSt9nothrow_t)
DELETE(delete_one_aligned, _ZdlPvSt11align_val_t)
DELETE(delete_array_aligned, _ZdaPvSt11align_val_t)
DELETE(delete_one_sized_aligned, _ZdlPvmSt11align_val_t)
DELETE(delete_array_sized_aligned, _ZdaPvmSt11align_val_t)
DELETE(delete_one_aligned_nothrow, _ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(delete_array_aligned_nothrow, _ZdaPvSt11align_val_tRKSt9nothrow_t)
