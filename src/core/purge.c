/* SPDX-License-Identifier: MIT */
/* purge.c - free memory goes back to the system: by age, by amount, in steps, under a budget. */
#include "core/purge.h"

#include <sys/mman.h>

#include "base/os.h"
#include "core/arena.h"

/* The most that one step should take, of CPU time. */
#define STEP_NS ((uint64_t)150 * 1000)
/* The kernel drops up to 33 pages one by one, and each may trap to a hypervisor; from 34 on it is
 * one flush. Three slices are 48 pages. */
#define RUN_LEAST       3u
#define RUN_MOST        64u
#define RUN_LEAST_PAGES (RUN_LEAST * (XP_SLICE / XP_OS_PAGE))
/* A purger that is not back by then has left by a jump. */
#define BUSY_MOST_NS ((uint64_t)1000 * 1000 * 1000)
#define DIRTY_LEAST  ((size_t)8 << 20)
/* One part in so many of the time that passes may be spent, and so much saved up. */
#define BUDGET_SHARE   100u
#define CREDIT_MOST_NS ((int64_t)100 * 1000 * 1000)
/* How often it is looked whether what went came back. */
#define WINDOW_NS          ((uint64_t)100 * 1000 * 1000)
#define WINDOW_SLICES      64u
#define STRETCH_MOST       8u
#define DELAY_STRETCH_MOST 4u
/* After so long a pause, a slow path may take so many steps. */
#define QUIET_NS    ((uint64_t)8 * 1000 * 1000)
#define QUIET_STEPS 3u
/* Pages that tell what short runs cost. */
#define TRIAL_PAGES 4u
/* A thread of its own looks this often at nothing, and at something at most. */
#define PAUSE_IDLE_NS  ((uint64_t)500 * 1000 * 1000)
#define PAUSE_LEAST_NS ((uint64_t)5 * 1000 * 1000)

static struct {
    uint64_t delay_ns; /* these three are set once, before threads */
    size_t dirty_max;  /* bytes; 0: from the peak */
    bool never;
    _Atomic uint64_t due;     /* coarse clock: nothing is old enough before */
    _Atomic uint64_t busy;    /* since when somebody purges, coarse clock; one is enough */
    _Atomic bool draining;    /* too much was there, and it is not down to the half yet */
    _Atomic uint32_t stretch; /* by how much limits and delay are raised */

    /* Of the one who is busy. */
    int64_t credit_ns;
    uint64_t credit_at;
    uint64_t step_ns; /* spent in this step */
    uint64_t last_at; /* when slices went by themselves last */
    uint64_t page_ns; /* what a page costs in a long run, and in a short one; 0: not known */
    uint64_t short_ns;
    uint64_t window_at;   /* since when the two below count */
    uint64_t window_gone; /* bytes */
    uint64_t window_reused;

    _Atomic uint64_t calls, bytes, ns, longest_ns, held_back;
} state = {.stretch = 1, .credit_ns = CREDIT_MOST_NS, .page_ns = 200};

void xp_purge_init(const struct xp_core_options *options)
{
    state.delay_ns = options->purge_delay_ns;
    state.dirty_max = options->dirty_max_bytes;
    state.never = options->purge_delay_ns == XP_PURGE_NEVER || !(options->layers & XP_LAYER_PURGE);
}

static uint32_t stretch(void)
{
    return atomic_load_explicit(&state.stretch, memory_order_relaxed);
}

static size_t dirty_max(void)
{
    if (state.delay_ns == 0)
        return 0;
    if (state.dirty_max)
        return state.dirty_max;
    size_t peak = atomic_load_explicit(&xp_arena_stats.peak_slices, memory_order_relaxed);
    size_t share = (peak << XP_SLICE_SHIFT) / 16 * stretch();
    return share > DIRTY_LEAST ? share : DIRTY_LEAST;
}

static size_t dirty_now(void)
{
    return atomic_load_explicit(&xp_arena_stats.dirty_slices, memory_order_relaxed)
           << XP_SLICE_SHIFT;
}

/* How long free memory is kept; longer while what went is wanted back soon. */
static uint64_t delay_ns(void)
{
    uint32_t times = stretch();

    times = times < DELAY_STRETCH_MOST ? times : DELAY_STRETCH_MOST;
    return state.delay_ns * times + 1; /* not 0, which is whatever age */
}

/* ---- one step ---- */

static void add_credit(uint64_t now_ns)
{
    if (state.credit_at != 0)
        state.credit_ns += (int64_t)((now_ns - state.credit_at) / BUDGET_SHARE);
    if (state.credit_ns > CREDIT_MOST_NS)
        state.credit_ns = CREDIT_MOST_NS;
    state.credit_at = now_ns;
}

/* What went and came back at once should have stayed: then more is kept, for longer. */
static void look_back(uint64_t now_ns)
{
    uint64_t gone = state.window_gone >> XP_SLICE_SHIFT;
    uint64_t reused = atomic_load_explicit(&xp_arena_stats.reused_slices, memory_order_relaxed);
    uint32_t times = stretch();

    if (now_ns - state.window_at < (gone >= WINDOW_SLICES ? WINDOW_NS : 10 * WINDOW_NS))
        return;
    uint64_t back = reused - state.window_reused;
    if (back * 4 > gone && back >= WINDOW_SLICES / 4)
        times *= 2;
    else if (back * 16 <= gone)
        times /= 2;
    times = times < 1 ? 1 : times > STRETCH_MOST ? STRETCH_MOST : times;
    atomic_store_explicit(&state.stretch, times, memory_order_relaxed);
    state.window_at = now_ns;
    state.window_gone = 0;
    state.window_reused = reused;
}

/* One step at a time in the process. False: somebody is at it, or the budget is spent (which does
 * not matter if it must be). Else end() follows. */
static bool begin(uint64_t now_ns, bool must)
{
    uint64_t busy = atomic_load_explicit(&state.busy, memory_order_relaxed);

    if (busy != 0 && now_ns - busy < BUSY_MOST_NS)
        return false;
    /* acquire: pairs with the release in end(). */
    if (!atomic_compare_exchange_strong_explicit(&state.busy, &busy, now_ns, memory_order_acquire,
                                                 memory_order_relaxed))
        return false;
    add_credit(now_ns);
    look_back(now_ns);
    state.step_ns = 0;
    if (state.credit_ns > 0 || must)
        return true;
    atomic_fetch_add_explicit(&state.held_back, 1, memory_order_relaxed);
    atomic_store_explicit(&state.busy, 0, memory_order_release);
    return false;
}

static void end_step(void)
{
    state.credit_ns -= (int64_t)state.step_ns;
    if (state.credit_ns < -CREDIT_MOST_NS)
        state.credit_ns = -CREDIT_MOST_NS;
    atomic_fetch_add_explicit(&state.ns, state.step_ns, memory_order_relaxed);
    if (state.step_ns > atomic_load_explicit(&state.longest_ns, memory_order_relaxed))
        atomic_store_explicit(&state.longest_ns, state.step_ns, memory_order_relaxed);
    state.step_ns = 0;
}

static void end(void)
{
    end_step();
    atomic_store_explicit(&state.busy, 0, memory_order_release);
}

/* True while another run fits into the step. */
static bool has_time(void)
{
    return state.step_ns == 0 || state.step_ns + RUN_LEAST_PAGES * state.page_ns <= STEP_NS;
}

/* Costs rise at once and fall slowly: runs of untouched pages are cheap and say little. */
static void learn(size_t size, uint64_t ns)
{
    size_t pages = size / XP_OS_PAGE;
    uint64_t *cost = pages < RUN_LEAST_PAGES ? &state.short_ns : &state.page_ns;
    uint64_t now = ns / pages + 1;

    *cost = now > *cost ? (*cost + now) / 2 + 1 : *cost - (*cost - now) / 8;
}

static bool give_back(void *start, size_t size)
{
    if (xp_os_advise(start, size, MADV_DONTNEED) < 0)
        return false;
    atomic_fetch_add_explicit(&state.calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&state.bytes, size, memory_order_relaxed);
    return true;
}

/* The same within a step: measured. */
static bool give_back_in_step(void *start, size_t size)
{
    uint64_t before = xp_os_thread_cpu_ns();
    bool gone = give_back(start, size);
    uint64_t ns = xp_os_thread_cpu_ns() - before;

    state.step_ns += ns;
    if (!gone)
        return false;
    learn(size, ns);
    state.window_gone += size;
    return true;
}

/* ---- free slices ---- */

/* A run as long as fits into what is left of the step. */
static uint32_t run_most(void)
{
    uint64_t left = STEP_NS - state.step_ns;
    uint64_t slices = left / (state.page_ns * (XP_SLICE / XP_OS_PAGE) + 1);

    if (slices < RUN_LEAST)
        return RUN_LEAST;
    return slices < RUN_MOST ? (uint32_t)slices : RUN_MOST;
}

/* Short runs go where they cost little, as on bare metal. */
static uint32_t run_least(void)
{
    return state.short_ns * (XP_SLICE / XP_OS_PAGE) < STEP_NS / 4 ? 1 : RUN_LEAST;
}

/* The run is taken out of the arena meanwhile, so no lock is held during the call. */
static bool drop(struct xp_page *page, uint64_t now_ns)
{
    size_t size = (size_t)page->slices << XP_SLICE_SHIFT;
    void *start = (void *)xp_page_base(page);
    bool gone = true;

    if (state.short_ns == 0 && page->slices < RUN_LEAST)
        gone = give_back_in_step(start, TRIAL_PAGES * XP_OS_PAGE);
    gone = gone && give_back_in_step(start, size);
    xp_slices_give_purged(page, gone, now_ns);
    return gone;
}

/* True when there is nothing more of that age. */
static bool drop_some(uint64_t now_ns, uint64_t period_ns, size_t bytes)
{
    struct xp_dirty_cursor cursor = {.now_ns = now_ns, .period_ns = period_ns};
    size_t dropped = 0;
    /* In a process with few slow paths, one of them may do more. */
    unsigned more = now_ns - state.last_at >= QUIET_NS ? QUIET_STEPS - 1 : 0;

    state.last_at = now_ns;
    while (dropped < bytes) {
        if (!has_time()) {
            if (more == 0)
                break;
            more--;
            end_step();
        }
        cursor.run_most = run_most();
        cursor.run_least = run_least();
        struct xp_page *page = xp_slices_take_dirty(&cursor);
        if (!page)
            return true;
        dropped += (size_t)page->slices << XP_SLICE_SHIFT;
        if (!drop(page, now_ns))
            return true; /* locked memory, for example */
    }
    return false;
}

bool xp_purge_all(void)
{
    struct xp_dirty_cursor cursor = {.run_least = 1, .run_most = RUN_MOST};
    uint64_t now = xp_os_now_coarse_ns();
    struct xp_page *page;
    bool any = false;

    while ((page = xp_slices_take_dirty(&cursor)) != NULL) {
        size_t size = (size_t)page->slices << XP_SLICE_SHIFT;
        bool gone = give_back((void *)xp_page_base(page), size);
        xp_slices_give_purged(page, gone, now);
        any |= gone;
    }
    return any;
}

uint64_t xp_purge_pause_ns(void)
{
    if (state.never)
        return 0;
    if (dirty_now() == 0)
        return PAUSE_IDLE_NS;
    /* While more is ready to go, a step each time it may be afforded. */
    uint64_t due = atomic_load_explicit(&state.due, memory_order_relaxed);
    uint64_t now = xp_os_now_coarse_ns();
    if (due <= now + PAUSE_LEAST_NS)
        return PAUSE_LEAST_NS;
    return due - now < PAUSE_IDLE_NS ? due - now : PAUSE_IDLE_NS;
}

void xp_purge_if_due(uint64_t now_ns)
{
    size_t dirty = dirty_now();
    if (dirty == 0 || state.never)
        return;
    size_t max = dirty_max();
    bool draining = atomic_load_explicit(&state.draining, memory_order_relaxed);
    bool much = dirty > (draining ? max / 2 : max);
    if (draining && !much)
        atomic_store_explicit(&state.draining, false, memory_order_relaxed);
    if ((!much && now_ns < atomic_load_explicit(&state.due, memory_order_relaxed)) ||
        !begin(now_ns, dirty > 2 * max))
        return;
    if (much) {
        /* Down to the middle, so that the next free does not come here again. */
        bool rest = !drop_some(now_ns, 0, dirty - max / 2) && max > 0;
        atomic_store_explicit(&state.draining, rest, memory_order_relaxed);
    } else if (drop_some(now_ns, delay_ns(), dirty)) {
        atomic_store_explicit(&state.due, now_ns + state.delay_ns / 4, memory_order_relaxed);
    }
    end();
}

void xp_purge_stats_get(struct xp_purge_stats *ret_stats)
{
    ret_stats->calls = atomic_load_explicit(&state.calls, memory_order_relaxed);
    ret_stats->bytes = atomic_load_explicit(&state.bytes, memory_order_relaxed);
    ret_stats->ns = atomic_load_explicit(&state.ns, memory_order_relaxed);
    ret_stats->longest_ns = atomic_load_explicit(&state.longest_ns, memory_order_relaxed);
    ret_stats->held_back = atomic_load_explicit(&state.held_back, memory_order_relaxed);
}
