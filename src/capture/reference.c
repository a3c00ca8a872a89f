/* SPDX-License-Identifier: MIT */
/* reference.c - libunwind, as a witness: the one room that knows it.
 *
 * Never linked: the library exports _Unwind_* names and would take over the program's exceptions.
 * RTLD_LOCAL keeps them out of everybody's way. */
#include "capture/reference.h"

#include <dlfcn.h>
#include <errno.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#define QUOTE2(x) #x
#define QUOTE(x)  QUOTE2(x)

#define OWN_FRAMES_MAX 32 /* between xp_reference_walk() and the program */

static struct {
    _Atomic bool open;
    __typeof__(&unw_tdep_getcontext) get_context;
    __typeof__(&unw_init_local) init_local;
    __typeof__(&unw_step) step;
    __typeof__(&unw_get_reg) get_reg;
    __typeof__(&unw_is_signal_frame) is_signal_frame;
} reference;

bool xp_reference_is_open(void)
{
    /* acquire: pairs with the release below. */
    return atomic_load_explicit(&reference.open, memory_order_acquire);
}

int xp_reference_open(void)
{
    if (xp_reference_is_open())
        return 0;
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return -ENOENT;

    reference.get_context =
        (__typeof__(reference.get_context))dlsym(library, QUOTE(unw_tdep_getcontext));
    reference.init_local = (__typeof__(reference.init_local))dlsym(library, QUOTE(unw_init_local));
    reference.step = (__typeof__(reference.step))dlsym(library, QUOTE(unw_step));
    reference.get_reg = (__typeof__(reference.get_reg))dlsym(library, QUOTE(unw_get_reg));
    reference.is_signal_frame =
        (__typeof__(reference.is_signal_frame))dlsym(library, QUOTE(unw_is_signal_frame));
    __typeof__(&unw_set_caching_policy) set_caching_policy =
        (__typeof__(set_caching_policy))dlsym(library, QUOTE(unw_set_caching_policy));
    unw_addr_space_t *space = dlsym(library, QUOTE(unw_local_addr_space));
    if (!reference.get_context || !reference.init_local || !reference.step || !reference.get_reg ||
        !reference.is_signal_frame || !set_caching_policy || !space)
        return -ENOENT;

    /* Its caches hold a lock while they ask the loader, which deadlocks with a thread that
     * allocates inside dl_iterate_phdr; and they do not notice dlclose. */
    set_caching_policy(*space, UNW_CACHE_NONE);
    atomic_store_explicit(&reference.open, true, memory_order_release);
    return 0;
}

/* Steps out of our own frames, to the one with the given pc and sp. */
static bool find_caller(unw_cursor_t *cursor, const struct xp_regs *regs)
{
    for (int i = 0; i < OWN_FRAMES_MAX; i++) {
        unw_word_t pc = 0, sp = 0;
        if (reference.get_reg(cursor, UNW_REG_IP, &pc) < 0 ||
            reference.get_reg(cursor, UNW_REG_SP, &sp) < 0)
            return false;
        if (pc == regs->pc && sp == regs->sp)
            return true;
        if (reference.step(cursor) <= 0)
            return false;
    }
    return false;
}

XP_NOINLINE size_t xp_reference_walk(const struct xp_regs *regs, uintptr_t *pcs, size_t max,
                                     bool *ret_cut)
{
    unw_context_t context;
    unw_cursor_t cursor;
    size_t count = 0;
    bool interrupted = false, cut = false;
    int saved_errno = errno;

    if (!xp_reference_is_open() || reference.get_context(&context) < 0 ||
        reference.init_local(&cursor, &context) < 0 || !find_caller(&cursor, regs))
        goto out;
    for (;;) {
        unw_word_t pc = 0;
        if (reference.get_reg(&cursor, UNW_REG_IP, &pc) < 0 || pc == 0)
            break;
        if (count == max) {
            cut = true;
            break;
        }
        pcs[count++] = pc + interrupted;
        if (reference.step(&cursor) <= 0)
            break;
        /* After the step it tells whether that was the step over a signal frame. */
        interrupted = reference.is_signal_frame(&cursor) > 0;
    }
    *ret_cut = cut;
out:
    errno = saved_errno;
    return count;
}
