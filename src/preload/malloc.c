/* SPDX-License-Identifier: MIT */
/* malloc.c - the C names: what the program calls malloc, free and the rest of the family.
 *
 * malloc, calloc, realloc and free are fast: they stay without a frame and tail-jump to their
 * twins. The others are rare enough to be their own twins. Built without line tables: in a profile
 * the leaf must be the exported name and not what was inlined into it. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "core/fast.h"
#include "preload/entry.h"
#include "preload/flow.h"
#include "preload/own.h"

/* Older names of the same functions, which libc's header no longer declares. */
XP_EXPORT void cfree(void *p);
XP_EXPORT void free_sized(void *p, size_t size);
XP_EXPORT void free_aligned_sized(void *p, size_t align, size_t size);
XP_EXPORT int __posix_memalign(void **ret, size_t align, size_t size);
XP_EXPORT void *__libc_malloc(size_t size);
XP_EXPORT void *__libc_calloc(size_t count, size_t size);
XP_EXPORT void *__libc_realloc(void *p, size_t size);
XP_EXPORT void __libc_free(void *p);
XP_EXPORT void *__libc_memalign(size_t align, size_t size);
XP_EXPORT void *__libc_valloc(size_t size);
XP_EXPORT void *__libc_pvalloc(size_t size);

XP_OWN_LABEL(malloc);
XP_OWN_LABEL(calloc);
XP_OWN_LABEL(realloc);
XP_OWN_LABEL(reallocarray);
XP_OWN_LABEL(free);
XP_OWN_LABEL(memalign);
XP_OWN_LABEL(aligned_alloc);
XP_OWN_LABEL(posix_memalign);
XP_OWN_LABEL(valloc);
XP_OWN_LABEL(pvalloc);
XP_OWN_LABEL(malloc_usable_size);
XP_OWN_LABEL(__libc_malloc);
XP_OWN_LABEL(__libc_calloc);
XP_OWN_LABEL(__libc_realloc);
XP_OWN_LABEL(__libc_free);
XP_OWN_LABEL(__libc_memalign);
XP_OWN_LABEL(__libc_valloc);
XP_OWN_LABEL(__libc_pvalloc);
XP_OWN_LABEL(__posix_memalign);

uintptr_t xp_own_malloc(void)
{
    return XP_OWN_PC(malloc) - 1;
}

void xp_own_each(void (*fn)(const char *name, uintptr_t address, void *arg), void *arg)
{
#define OWN(name) fn(#name, XP_OWN_PC(name) - 1, arg)
    OWN(malloc);
    OWN(calloc);
    OWN(realloc);
    OWN(reallocarray);
    OWN(free);
    OWN(memalign);
    OWN(aligned_alloc);
    OWN(posix_memalign);
    OWN(valloc);
    OWN(pvalloc);
    OWN(malloc_usable_size);
    OWN(__libc_malloc);
    OWN(__libc_calloc);
    OWN(__libc_realloc);
    OWN(__libc_free);
    OWN(__libc_memalign);
    OWN(__libc_valloc);
    OWN(__libc_pvalloc);
    OWN(__posix_memalign);
#undef OWN
}

/* C's way of saying that there is no memory; nothing else of ours writes errno. */
static void *or_enomem(void *p)
{
    if (XP_UNLIKELY(!p))
        errno = ENOMEM;
    return p;
}

/* ---- malloc, calloc, free ---- */

XP_SLOW_TWIN void *malloc_slow(size_t size)
{
    struct xp_call call = XP_CALL(malloc, XP_ENTRY_MALLOC);
    return or_enomem(xp_flow_alloc(size, 0, 0, &call));
}

XP_EXPORT void *malloc(size_t size)
{
    void *p = xp_fast_alloc(size);
    if (XP_LIKELY(p != NULL))
        return p;
    return malloc_slow(size);
}

XP_SLOW_TWIN void *libc_malloc_slow(size_t size)
{
    struct xp_call call = XP_CALL(__libc_malloc, XP_ENTRY_MALLOC);
    return or_enomem(xp_flow_alloc(size, 0, 0, &call));
}

XP_EXPORT void *__libc_malloc(size_t size)
{
    void *p = xp_fast_alloc(size);
    if (XP_LIKELY(p != NULL))
        return p;
    return libc_malloc_slow(size);
}

XP_ALWAYS_INLINE void *calloc_flow(size_t count, size_t size, const struct xp_call *call)
{
    size_t total;

    if (!xp_mul_ok(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return or_enomem(xp_flow_alloc(total, 0, XP_ALLOC_ZERO, call));
}

XP_SLOW_TWIN void *calloc_slow(size_t count, size_t size)
{
    struct xp_call call = XP_CALL(calloc, XP_ENTRY_CALLOC);
    return calloc_flow(count, size, &call);
}

XP_EXPORT void *calloc(size_t count, size_t size)
{
    size_t total;

    if (XP_LIKELY(xp_mul_ok(count, size, &total))) {
        void *p = xp_fast_alloc(total);
        if (XP_LIKELY(p != NULL))
            return memset(p, 0, total); /* a tail call: memset returns p */
    }
    return calloc_slow(count, size);
}

XP_EXPORT void *__libc_calloc(size_t count, size_t size)
{
    struct xp_call call = XP_CALL(__libc_calloc, XP_ENTRY_CALLOC);
    return calloc_flow(count, size, &call);
}

XP_SLOW_TWIN void free_slow(void *p)
{
    if (p && !xp_remote_free(p))
        xp_flow_free(p);
}

XP_EXPORT void free(void *p)
{
    if (XP_LIKELY(xp_fast_free(p)))
        return;
    free_slow(p);
}

XP_EXPORT void cfree(void *p)
{
    if (XP_LIKELY(xp_fast_free(p)))
        return;
    free_slow(p);
}

XP_EXPORT void __libc_free(void *p)
{
    if (XP_LIKELY(xp_fast_free(p)))
        return;
    free_slow(p);
}

/* C23: the size is what the program believes; a block knows its own. */
XP_EXPORT void free_sized(void *p, size_t size)
{
    (void)size;
    if (XP_LIKELY(xp_fast_free(p)))
        return;
    free_slow(p);
}

XP_EXPORT void free_aligned_sized(void *p, size_t align, size_t size)
{
    (void)align;
    (void)size;
    if (XP_LIKELY(xp_fast_free(p)))
        return;
    free_slow(p);
}

/* ---- realloc ---- */

XP_ALWAYS_INLINE void *realloc_flow(void *p, size_t size, const struct xp_call *call)
{
    if (!p)
        return or_enomem(xp_flow_alloc(size, 0, 0, call));
    if (size == 0) { /* as in glibc: a free, and not an error */
        xp_flow_free(p);
        return NULL;
    }
    return or_enomem(xp_flow_realloc(p, size, call));
}

XP_SLOW_TWIN void *realloc_slow(void *p, size_t size)
{
    struct xp_call call = XP_CALL(realloc, XP_ENTRY_REALLOC);
    return realloc_flow(p, size, &call);
}

XP_EXPORT void *realloc(void *p, size_t size)
{
    if (xp_fast_stays(p, size))
        return p;
    return realloc_slow(p, size);
}

XP_EXPORT void *__libc_realloc(void *p, size_t size)
{
    struct xp_call call = XP_CALL(__libc_realloc, XP_ENTRY_REALLOC);
    return realloc_flow(p, size, &call);
}

XP_EXPORT void *reallocarray(void *p, size_t count, size_t size)
{
    struct xp_call call = XP_CALL(reallocarray, XP_ENTRY_REALLOCARRAY);
    size_t total;

    if (!xp_mul_ok(count, size, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc_flow(p, total, &call);
}

/* ---- aligned ---- */

/* memalign takes any alignment and rounds it up; what cannot be rounded up is not one. */
XP_ALWAYS_INLINE void *memalign_flow(size_t align, size_t size, const struct xp_call *call)
{
    if (align > (size_t)1 << 62) {
        errno = align > (size_t)1 << 63 ? EINVAL : ENOMEM;
        return NULL;
    }
    if (align > 1)
        align = (size_t)1 << xp_log2_ceil(align);
    return or_enomem(xp_flow_alloc(size, align, 0, call));
}

XP_EXPORT void *memalign(size_t align, size_t size)
{
    struct xp_call call = XP_CALL(memalign, XP_ENTRY_MEMALIGN);
    return memalign_flow(align, size, &call);
}

XP_EXPORT void *__libc_memalign(size_t align, size_t size)
{
    struct xp_call call = XP_CALL(__libc_memalign, XP_ENTRY_MEMALIGN);
    return memalign_flow(align, size, &call);
}

/* C17 wants a supported alignment; that the size be a multiple of it is asked by nobody. */
XP_EXPORT void *aligned_alloc(size_t align, size_t size)
{
    struct xp_call call = XP_CALL(aligned_alloc, XP_ENTRY_ALIGNED_ALLOC);

    if (!xp_is_pow2(align)) {
        errno = EINVAL;
        return NULL;
    }
    return or_enomem(xp_flow_alloc(size, align, 0, &call));
}

/* The error is the result, and *ret stays as it was. errno too, but for ENOMEM: programs print it
 * instead of the result, and libc's own sets it. */
XP_ALWAYS_INLINE int posix_memalign_flow(void **ret, size_t align, size_t size,
                                         const struct xp_call *call)
{
    if (!xp_is_pow2(align) || align % sizeof(void *) != 0)
        return EINVAL;
    void *p = or_enomem(xp_flow_alloc(size, align, 0, call));
    if (!p)
        return ENOMEM;
    *ret = p;
    return 0;
}

XP_EXPORT int posix_memalign(void **ret, size_t align, size_t size)
{
    struct xp_call call = XP_CALL(posix_memalign, XP_ENTRY_POSIX_MEMALIGN);
    return posix_memalign_flow(ret, align, size, &call);
}

XP_EXPORT int __posix_memalign(void **ret, size_t align, size_t size)
{
    struct xp_call call = XP_CALL(__posix_memalign, XP_ENTRY_POSIX_MEMALIGN);
    return posix_memalign_flow(ret, align, size, &call);
}

XP_EXPORT void *valloc(size_t size)
{
    struct xp_call call = XP_CALL(valloc, XP_ENTRY_VALLOC);
    return or_enomem(xp_flow_alloc(size, XP_OS_PAGE, 0, &call));
}

XP_EXPORT void *__libc_valloc(size_t size)
{
    struct xp_call call = XP_CALL(__libc_valloc, XP_ENTRY_VALLOC);
    return or_enomem(xp_flow_alloc(size, XP_OS_PAGE, 0, &call));
}

/* Whole pages, at least one. */
XP_ALWAYS_INLINE void *pvalloc_flow(size_t size, const struct xp_call *call)
{
    size_t rounded;

    if (!xp_add_ok(size ? size : 1, XP_OS_PAGE - 1, &rounded)) {
        errno = ENOMEM;
        return NULL;
    }
    return or_enomem(xp_flow_alloc(xp_align_down(rounded, XP_OS_PAGE), XP_OS_PAGE, 0, call));
}

XP_EXPORT void *pvalloc(size_t size)
{
    struct xp_call call = XP_CALL(pvalloc, XP_ENTRY_PVALLOC);
    return pvalloc_flow(size, &call);
}

XP_EXPORT void *__libc_pvalloc(size_t size)
{
    struct xp_call call = XP_CALL(__libc_pvalloc, XP_ENTRY_PVALLOC);
    return pvalloc_flow(size, &call);
}

XP_EXPORT size_t malloc_usable_size(void *p)
{
    return p ? xp_flow_usable_size(p) : 0;
}
