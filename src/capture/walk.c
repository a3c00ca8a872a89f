/* SPDX-License-Identifier: MIT */
/* walk.c - from one frame to the next, never reading what may not be there. */
#include "capture/walk.h"

#include "base/bits.h"
#include "base/os.h"
#include "capture/history.h"
#include "capture/rules.h"

#define GUESS_MAX   ((uintptr_t)1 << 20)  /* a guessed frame is no larger */
#define MAIN_MAX    ((uintptr_t)64 << 20) /* of the main stack, taken to be mapped without asking */
#define FILL_MAX    (256 * XP_OS_PAGE)    /* gap between valid pages that is filled by asking */
#define SIGNALS_MAX 32                    /* frames of signals on one stack; more is a loop */

/* Frames hold return addresses where a checker of memory sees red zones, and a damaged stack leads
 * to readable memory that it knows nothing of. */
#define READS_FRAMES __attribute__((no_sanitize("address"), no_sanitize("thread")))

/* The loader's word for the lowest address above the main thread's frames. */
extern void *__libc_stack_end __attribute__((weak));

static uintptr_t main_stack_end;

struct walk {
    struct xp_capture_thread *thread;
    uintptr_t pc, sp, fp;
    uintptr_t low, size; /* the range that can be read without asking again; size may be 0 */
    unsigned signals;
    bool interrupted; /* pc is not a return address */
};

void xp_walk_init(void)
{
    if (&__libc_stack_end)
        main_stack_end = (uintptr_t)__libc_stack_end;
}

void xp_capture_thread_bounds(struct xp_capture_thread *thread, uintptr_t low, uintptr_t high)
{
    thread->stack_low = low;
    thread->stack_high = high > low ? high : low;
    thread->valid_low = thread->valid_high = 0;
}

static void use_range(struct walk *walk, uintptr_t low, uintptr_t high)
{
    walk->low = low;
    walk->size = high - low;
}

/* Asks for each page from low to high. */
static bool ask(uintptr_t low, uintptr_t high)
{
    return xp_os_readable((const void *)low, high - low);
}

/* Grows the thread's valid range to the page of address, or begins a new range there. A stack's
 * pages are met one after the other, so this is one question a page in a thread's life. */
static XP_COLD bool validate(struct xp_capture_thread *thread, uintptr_t address)
{
    uintptr_t low = xp_align_down(address, XP_OS_PAGE), high = low + XP_OS_PAGE;

    if (high < low || !ask(low, high))
        return false;
    if (high <= thread->valid_low && thread->valid_low - high <= FILL_MAX &&
        ask(high, thread->valid_low)) {
        thread->valid_low = low;
    } else if (low >= thread->valid_high && low - thread->valid_high <= FILL_MAX &&
               ask(thread->valid_high, low)) {
        thread->valid_high = high;
    } else {
        thread->valid_low = low;
        thread->valid_high = high;
    }
    return true;
}

static XP_NOINLINE bool readable_slow(struct walk *walk, uintptr_t address)
{
    struct xp_capture_thread *thread = walk->thread;

    if (address % 8 != 0 || address < XP_OS_PAGE)
        return false;
    if (address >= thread->stack_low && address < thread->stack_high &&
        thread->stack_high - address >= 8) {
        use_range(walk, thread->stack_low, thread->stack_high);
        return true;
    }
    if ((address < thread->valid_low || address >= thread->valid_high) &&
        !validate(thread, address))
        return false;
    use_range(walk, thread->valid_low, thread->valid_high);
    return true;
}

/* Can the aligned word at address be read? */
XP_ALWAYS_INLINE bool readable(struct walk *walk, uintptr_t address)
{
    if (XP_LIKELY(address - walk->low < walk->size && address % 8 == 0 &&
                  walk->size - (address - walk->low) >= 8))
        return true;
    return readable_slow(walk, address);
}

XP_ALWAYS_INLINE READS_FRAMES uintptr_t load(uintptr_t address)
{
    return *(const uintptr_t *)address;
}

/* How a frame was left. */
enum step { STEP_DONE, STEP_END, STEP_NO_CFI, STEP_BAD };

static uintptr_t base_of(const struct walk *walk, uint8_t base, uintptr_t cfa)
{
    return base == XP_CFI_SP ? walk->sp : base == XP_CFI_FP ? walk->fp : cfa;
}

static READS_FRAMES enum step step_rule(struct walk *walk, const struct xp_cfi_rule *rule)
{
    uintptr_t cfa = base_of(walk, rule->cfa_base, 0) + (uintptr_t)(intptr_t)rule->cfa_offset;
    if (rule->cfa_load) {
        if (!readable(walk, cfa))
            return STEP_BAD;
        cfa = load(cfa);
    }
    /* A handler may run on a stack of its own; any other frame lies above the one it called. */
    if (cfa % 8 != 0 || (rule->signal_frame ? ++walk->signals > SIGNALS_MAX : cfa <= walk->sp))
        return STEP_BAD;

    uintptr_t at = base_of(walk, rule->ra.base, cfa) + (uintptr_t)(intptr_t)rule->ra.offset;
    if (!readable(walk, at))
        return STEP_BAD;
    uintptr_t pc = load(at), fp = walk->fp;

    at = base_of(walk, rule->fp.base, cfa) + (uintptr_t)(intptr_t)rule->fp.offset;
    switch (rule->fp.how) {
    case XP_CFI_SAME:
        break;
    case XP_CFI_SAVED:
        if (!readable(walk, at))
            return STEP_BAD;
        fp = load(at);
        break;
    case XP_CFI_VALUE:
        fp = at;
        break;
    default:
        fp = 0;
        break;
    }
    walk->pc = pc;
    walk->sp = cfa;
    walk->fp = fp;
    walk->interrupted = rule->signal_frame;
    return STEP_DONE;
}

/* No rule: if rbp holds a frame pointer, two words say all. Believed only if it points a little
 * above sp and the word over the saved one is the address of code. */
static READS_FRAMES enum step step_guess(struct walk *walk)
{
    uintptr_t fp = walk->fp;

    if (fp < walk->sp || fp - walk->sp > GUESS_MAX || !readable(walk, fp) ||
        !readable(walk, fp + 8))
        return STEP_NO_CFI;
    uintptr_t pc = load(fp + 8);
    if (pc == 0)
        return STEP_END;
    if (!xp_rules_is_code(pc - 1))
        return STEP_NO_CFI;
    walk->pc = pc;
    walk->fp = load(fp);
    walk->sp = fp + 16;
    walk->interrupted = false;
    return STEP_DONE;
}

/* The step nearly every frame takes: CFA = sp or fp + offset, return address right below. */
XP_ALWAYS_INLINE READS_FRAMES enum step step_word(struct walk *walk, uint64_t word)
{
    uintptr_t cfa = xp_rule_cfa_offset(word), fp_offset = xp_rule_fp_offset(word);

    /* A branch, which the processor guesses, and not a selection, which it would wait for. */
    if (XP_LIKELY(xp_rule_kind(word) == XP_RULE_SP))
        cfa += walk->sp;
    else
        cfa += walk->fp;
    if (XP_UNLIKELY(cfa <= walk->sp || !readable(walk, cfa - 8)))
        return STEP_BAD;
    if (fp_offset != 0) {
        if (XP_UNLIKELY(!readable(walk, cfa - fp_offset)))
            return STEP_BAD;
        walk->fp = load(cfa - fp_offset);
    }
    walk->pc = load(cfa - 8);
    walk->sp = cfa;
    walk->interrupted = false;
    return STEP_DONE;
}

static XP_NOINLINE enum step step_slow(struct walk *walk, uint64_t word, uint32_t generation,
                                       struct xp_walk_result *result)
{
    struct xp_cfi_rule rule;
    enum xp_frame_kind frame;

    if (xp_rule_kind(word) == XP_RULE_RARE) {
        frame = xp_rules_rare(word, &rule);
    } else {
        result->misses++;
        frame = xp_rules_find_slow(walk->pc - !walk->interrupted, generation, &rule);
    }
    switch (frame) {
    case XP_FRAME_STEP:
        return step_rule(walk, &rule);
    case XP_FRAME_END:
        return STEP_END;
    case XP_FRAME_BAD:
        /* The first pc has just been running: new code of a compiler, not yet known as such. */
        if (result->count > 1) {
            result->count--;
            return STEP_BAD;
        }
        break;
    case XP_FRAME_GUESS:
        break;
    }
    if (result->exact)
        result->certain = result->count;
    result->exact = false;
    enum step step = step_guess(walk);
    if (step == STEP_DONE)
        result->flags |= XP_STACK_GUESSED;
    return step;
}

/* The range that is known to be there without asking: from here up to where the stack began. Pages
 * that were valid on another stack are forgotten: it may be gone by now. */
static void start_range(struct walk *walk)
{
    struct xp_capture_thread *thread = walk->thread;
    uintptr_t reach = thread->valid_low > FILL_MAX ? thread->valid_low - FILL_MAX : 0;

    if (main_stack_end - walk->sp < MAIN_MAX)
        use_range(walk, xp_align_down(walk->sp, 8), main_stack_end);
    else if (walk->sp - thread->valid_low < thread->valid_high - thread->valid_low)
        use_range(walk, thread->valid_low, thread->valid_high);
    else if (walk->sp - reach >= thread->valid_high - reach)
        thread->valid_low = thread->valid_high = 0;
}

READS_FRAMES void xp_walk(struct xp_capture_thread *thread, const struct xp_regs *regs,
                          uintptr_t *pcs, size_t max, struct xp_walk_result *ret_result)
{
    struct walk walk = {.thread = thread, .pc = regs->pc, .sp = regs->sp, .fp = regs->fp};
    struct xp_walk_result result = {.exact = true};
    bool remembers = !xp_history_is_closing();
    uint32_t generation = xp_history_generation();

    start_range(&walk);
    for (;;) {
        uintptr_t address = walk.pc - !walk.interrupted;
        uint64_t word = XP_LIKELY(remembers) ? xp_rules_lookup(address, generation) : 0;
        bool is_step = xp_rule_kind(word) == XP_RULE_SP || xp_rule_kind(word) == XP_RULE_FP;
        enum step step;

        if (XP_UNLIKELY(result.count == max)) {
            if (is_step || xp_rules_is_code(address))
                result.flags |= XP_STACK_CUT;
            break;
        }
        pcs[result.count++] = address + 1;
        if (XP_LIKELY(is_step))
            step = step_word(&walk, word);
        else
            step = step_slow(&walk, word, generation, &result);
        if (XP_LIKELY(step == STEP_DONE && walk.pc != 0))
            continue;

        if (step == STEP_NO_CFI)
            result.flags |= XP_STACK_NO_CFI;
        if (step == STEP_BAD)
            result.flags |= XP_STACK_BAD;
        break;
    }
    if (result.exact)
        result.certain = result.count;
    if (result.flags & (XP_STACK_BAD | XP_STACK_CUT))
        result.exact = false;
    *ret_result = result;
}
