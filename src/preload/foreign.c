/* SPDX-License-Identifier: MIT */
/* foreign.c - blocks that are not ours, and programs that want none of ours. */
#include "preload/foreign.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/os.h"
#include "base/panic.h"
#include "core/heap.h"
#include "preload/object.h"
#include "preload/own.h"
#include "preload/options.h"
#include "preload/real.h"

#define LINES_MAX 3 /* of one kind; a program with one such bug tends to have it in a loop */

/* Sanitizer runtimes replace malloc for good reasons, and theirs may come after ours. */
extern void __asan_init(void) __attribute__((weak));
extern void __hwasan_init(void) __attribute__((weak));
extern void __lsan_init(void) __attribute__((weak));
extern void __msan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    size_t (*usable_size)(void *);
    const char *winner; /* file name of the object that owns malloc */
} pass;

static struct {
    uintptr_t brk_start;
    _Atomic uint64_t frees, invalid; /* pointers seen; the first LINES_MAX are told */
} foreign;

static bool has_sanitizer(void)
{
    return __asan_init || __hwasan_init || __lsan_init || __msan_init || __tsan_init;
}

/* The loader's answer to the name, as every caller of malloc gets it. */
static uintptr_t winning_malloc(void)
{
    void *(*volatile winner)(size_t) = malloc;
    return (uintptr_t)winner;
}

bool xp_foreign_suspected(void)
{
    return winning_malloc() != xp_own_malloc() || has_sanitizer();
}

/* In a program that is not position independent and takes malloc's address, the name's official
 * address is the program's PLT entry, which calls us. The symbol is then undefined there. */
static bool is_real_definition(void *function)
{
    Dl_info info;
    void *extra = NULL;

    if (!dladdr1(function, &info, &extra, RTLD_DL_SYMENT))
        return true;
    const ElfW(Sym) *symbol = extra;
    return !symbol || symbol->st_shndx != SHN_UNDEF;
}

static bool is_ours(void *function)
{
    void *start;

    if (!function)
        return true;
    const struct link_map *theirs = xp_object_of(function, &start);
    return theirs && theirs == xp_object_of((void *)xp_own_malloc(), &start);
}

/* Whom the program would call if we were not there. */
static void *find(const char *name, bool past_us)
{
    void *function = past_us ? NULL : dlsym(RTLD_DEFAULT, name);
    return is_ours(function) ? dlsym(RTLD_NEXT, name) : function;
}

bool xp_foreign_decide(void)
{
    bool sanitizer = has_sanitizer();
    void *winner = (void *)winning_malloc();
    Dl_info info;

    if (!sanitizer && (is_ours(winner) || !is_real_definition(winner)))
        return false;
    pass.malloc = (void *(*)(size_t))find("malloc", sanitizer);
    pass.calloc = (void *(*)(size_t, size_t))find("calloc", sanitizer);
    pass.realloc = (void *(*)(void *, size_t))find("realloc", sanitizer);
    pass.free = (void (*)(void *))find("free", sanitizer);
    pass.memalign = (void *(*)(size_t, size_t))find("memalign", sanitizer);
    pass.usable_size = (size_t(*)(void *))find("malloc_usable_size", sanitizer);
    if (!pass.malloc || !pass.calloc || !pass.realloc || !pass.free || !pass.memalign ||
        !pass.usable_size)
        return false;
    pass.winner = dladdr((void *)pass.malloc, &info) && info.dli_fname ? info.dli_fname : "";
    return true;
}

void xp_foreign_explain(void)
{
    struct xp_message m;

    xp_message_begin(&m);
    xp_out_text(&m.out, "libxprof: profiling is off: ");
    if (has_sanitizer())
        xp_out_text(&m.out, "the program carries a sanitizer");
    else
        xp_out_text(&m.out, "malloc belongs to ");
    if (!has_sanitizer())
        xp_out_escaped(&m.out, pass.winner, strnlen(pass.winner, 500));
    xp_message_end(&m);
}

void *xp_pass_alloc(size_t size, size_t align, bool zero)
{
    if (align > 16)
        return pass.memalign(align, size);
    return zero ? pass.calloc(1, size) : pass.malloc(size);
}

void *xp_pass_realloc(void *p, size_t new_size)
{
    if (!xp_heap_owns(p))
        return pass.realloc(p, new_size);

    size_t old_size = xp_heap_usable_size(p, false);
    void *block = pass.malloc(new_size);
    if (block) {
        memcpy(block, p, old_size < new_size ? old_size : new_size);
        xp_pass_free(p);
    }
    return block;
}

void xp_pass_free(void *p)
{
    struct xp_record record;

    if (!xp_heap_owns(p))
        pass.free(p);
    else if (xp_heap_free_slow(p, &record) == XP_FREE_SAMPLED)
        xp_heap_release_sampled(p);
}

size_t xp_pass_usable_size(void *p)
{
    return xp_heap_owns(p) ? xp_heap_usable_size(p, true) : pass.usable_size(p);
}

void xp_foreign_init(void)
{
    foreign.brk_start = xp_os_brk_end();
}

static bool in_brk(const void *p)
{
    return (uintptr_t)p >= foreign.brk_start && (uintptr_t)p < xp_os_brk_end();
}

static void tell(_Atomic uint64_t *counter, const char *before, const void *p, const char *after)
{
    struct xp_message m;

    if (atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) >= LINES_MAX)
        return;
    xp_message_begin(&m);
    xp_out_text(&m.out, before);
    xp_out_hex(&m.out, (uintptr_t)p, 1);
    xp_out_text(&m.out, after);
    xp_message_end(&m);
}

void xp_foreign_free(void *p)
{
    int error = errno;
    void (*real)(void *) = (void (*)(void *))xp_real_known(XP_REAL_FREE);

    if (real && in_brk(p))
        real(p);
    else
        tell(&foreign.frees, "libxprof: free of 0x", p, ", which is no heap block; ignored");
    errno = error;
}

void *xp_foreign_realloc(void *p, size_t new_size)
{
    void *(*real)(void *, size_t) = (void *(*)(void *, size_t))xp_real_known(XP_REAL_REALLOC);

    if (real && in_brk(p))
        return real(p, new_size);
    tell(&foreign.frees, "libxprof: realloc of 0x", p, ", which is no heap block; refused");
    return NULL;
}

size_t xp_foreign_usable_size(void *p)
{
    size_t (*real)(void *) = (size_t(*)(void *))xp_real_known(XP_REAL_USABLE_SIZE);

    return real && in_brk(p) ? real(p) : 0;
}

void xp_foreign_invalid(void *p)
{
    if (xp_option(XP_OPTION_STRICT))
        xp_panic("double or invalid free of", (uintptr_t)p);
    tell(&foreign.invalid, "libxprof: double or invalid free of 0x", p, "; ignored");
}
