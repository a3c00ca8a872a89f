/* SPDX-License-Identifier: MIT */
/* slices.c - which slices are free, which of these are dirty, and since when. */
#include "core/slices.h"

#include "base/os.h"
#include "core/limits.h"
#include "core/runs.h"

/* A slice that is wanted again so soon after it went back should have stayed. */
#define SOON_NS ((uint64_t)500 * 1000 * 1000)
/* Steps of committing that open three segments. */
#define COMMITS_MOST 24u

struct xp_arena_stats xp_arena_stats;
struct xp_lock xp_arena_lock = XP_LOCK_INIT(XP_RANK_SEGMENT);

/* Runs to be given back by the next holder of the lock: chained by next; pushed by CAS, taken whole
 * by exchange. */
static struct xp_page *_Atomic later_ones;

static uint32_t segments_of(const struct xp_arena *arena)
{
    size_t limit = atomic_load_explicit(&arena->limit, memory_order_relaxed);
    return (uint32_t)((limit + XP_SEGMENT_SIZE - 1) / XP_SEGMENT_SIZE);
}

static struct xp_segment *segment_of(const struct xp_page *page, uint32_t *ret_first)
{
    const struct xp_arena *arena = &xp_arenas[page->arena];
    size_t slice = (size_t)(page - arena->pages);

    *ret_first = (uint32_t)(slice % XP_SEGMENT_SLICES);
    return &arena->segments[slice / XP_SEGMENT_SLICES];
}

/* ---- the bits ---- */

static void set_dirty(struct xp_segment *segment, uint32_t first, uint32_t count)
{
    uint32_t more = count - xp_run_count(segment->dirty, first, count);

    xp_run_set(segment->dirty, first, count);
    segment->dirty_count += more;
    atomic_fetch_add_explicit(&xp_arena_stats.dirty_slices, more, memory_order_relaxed);
}

/* Returns how many were. */
static uint32_t clear_dirty(struct xp_segment *segment, uint32_t first, uint32_t count)
{
    uint32_t less = xp_run_count(segment->dirty, first, count);

    if (less == 0)
        return 0;
    xp_run_clear(segment->dirty, first, count);
    xp_run_clear(segment->aged, first, count);
    xp_run_clear(segment->ripe, first, count);
    segment->dirty_count -= less;
    atomic_fetch_sub_explicit(&xp_arena_stats.dirty_slices, less, memory_order_relaxed);
    return less;
}

void xp_slices_forget_locked(struct xp_segment *segment)
{
    clear_dirty(segment, 0, XP_SEGMENT_SLICES);
    xp_run_clear(segment->free, 0, XP_SEGMENT_SLICES);
    xp_run_clear(segment->gone, 0, XP_SEGMENT_SLICES);
}

static void note_reuse(struct xp_segment *segment, uint32_t first, uint32_t count)
{
    uint32_t gone = xp_run_count(segment->gone, first, count);

    if (gone == 0)
        return;
    xp_run_clear(segment->gone, first, count);
    if (xp_os_now_coarse_ns() - segment->gone_ns < SOON_NS)
        atomic_fetch_add_explicit(&xp_arena_stats.reused_slices, gone, memory_order_relaxed);
}

/* Out of the free ones; the caller counts them as used, or not. */
static struct xp_page *take_bits(struct xp_arena *arena, uint32_t segment_index, uint32_t first,
                                 uint32_t count, bool *ret_clean)
{
    struct xp_segment *segment = &arena->segments[segment_index];
    size_t slice = (size_t)segment_index * XP_SEGMENT_SLICES + first;
    struct xp_page *page = &arena->pages[slice];

    xp_run_clear(segment->free, first, count);
    *ret_clean = clear_dirty(segment, first, count) == 0;
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&arena->map[slice + i], page, memory_order_relaxed);
    page->slices = (uint16_t)count;
    page->flags = 0;
    atomic_store_explicit(&page->owner, XP_OWNER_CLAIMED, memory_order_relaxed);
    arena->used += count;
    return page;
}

static struct xp_page *take_run(struct xp_arena *arena, uint32_t segment_index, uint32_t first,
                                uint32_t count, bool *ret_clean)
{
    note_reuse(&arena->segments[segment_index], first, count);
    struct xp_page *page = take_bits(arena, segment_index, first, count, ret_clean);
    atomic_fetch_add_explicit(&xp_arena_stats.fresh_slices, count, memory_order_relaxed);
    size_t used =
        atomic_fetch_add_explicit(&xp_arena_stats.used_slices, count, memory_order_relaxed) + count;
    if (used > atomic_load_explicit(&xp_arena_stats.peak_slices, memory_order_relaxed))
        atomic_store_explicit(&xp_arena_stats.peak_slices, used, memory_order_relaxed);
    return page;
}

static void give_bits(struct xp_page *page, bool clean)
{
    struct xp_arena *arena = &xp_arenas[page->arena];
    size_t slice = (size_t)(page - arena->pages);
    uint32_t first, count = page->slices;
    struct xp_segment *segment = segment_of(page, &first);

    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&arena->map[slice + i], &arena->pages[slice + i],
                              memory_order_relaxed);
    if (!clean)
        set_dirty(segment, first, count);
    atomic_store_explicit(&page->owner, XP_OWNER_NONE, memory_order_relaxed);
    xp_run_set(segment->free, first, count);
    segment->run_bound = XP_SEGMENT_SLICES;
    arena->used -= count;
}

static void give_locked(struct xp_page *page, bool clean)
{
    size_t count = page->slices;

    give_bits(page, clean);
    atomic_fetch_sub_explicit(&xp_arena_stats.used_slices, count, memory_order_relaxed);
}

/* ---- the lock, and what waits for it ---- */

bool xp_slices_lock(void)
{
    if (xp_limits_lock(&xp_arena_lock) < 0)
        return false;
    if (XP_LIKELY(atomic_load_explicit(&later_ones, memory_order_relaxed) == NULL))
        return true;
    /* acquire: pairs with the release in push_later(). */
    struct xp_page *page = atomic_exchange_explicit(&later_ones, NULL, memory_order_acquire);
    while (page) {
        struct xp_page *next = page->next;
        give_locked(page, false);
        page = next;
    }
    return true;
}

static void push_later(struct xp_page *page)
{
    struct xp_page *head = atomic_load_explicit(&later_ones, memory_order_relaxed);
    do {
        page->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&later_ones, &head, page, memory_order_release,
                                                    memory_order_relaxed));
}

/* ---- taking ---- */

static struct xp_page *find_run_locked(uint32_t index, uint32_t count, size_t align, bool all_dirty,
                                       bool *ret_clean)
{
    struct xp_arena *arena = &xp_arenas[index];
    uintptr_t base = atomic_load_explicit(&arena->base, memory_order_relaxed);
    uint32_t segments = segments_of(arena), longest;

    for (uint32_t i = 0; i < segments; i++) {
        struct xp_segment *segment = &arena->segments[i];
        if (segment->run_bound < count || (all_dirty && segment->dirty_count < count))
            continue;
        uint32_t first;
        size_t at = (base >> XP_SLICE_SHIFT) + (size_t)i * XP_SEGMENT_SLICES;
        if (xp_run_find(all_dirty ? segment->dirty : segment->free, count, at,
                        align >> XP_SLICE_SHIFT, &first, &longest))
            return take_run(arena, i, first, count, ret_clean);
        if (!all_dirty)
            segment->run_bound = longest;
    }
    return NULL;
}

/* Memory that is there already: no faults, no growth. */
static struct xp_page *find_all_dirty_locked(uint32_t count, size_t align, bool *ret_clean)
{
    uint32_t arenas = xp_arena_count();

    if (atomic_load_explicit(&xp_arena_stats.dirty_slices, memory_order_relaxed) < count)
        return NULL;
    for (uint32_t index = 0; index < arenas; index++) {
        struct xp_page *page = find_run_locked(index, count, align, true, ret_clean);
        if (page)
            return page;
    }
    return NULL;
}

/* True while arena `index` could be made to hold the run by committing more. */
static bool has_room(uint32_t index)
{
    const struct xp_arena *arena = &xp_arenas[index];
    return atomic_load_explicit(&arena->limit, memory_order_relaxed) < arena->reserved;
}

static struct xp_page *take_locked(uint32_t count, size_t align, bool *ret_clean)
{
    struct xp_page *page = find_all_dirty_locked(count, align, ret_clean);

    for (uint32_t index = 0; !page && index < XP_ARENAS; index++) {
        struct xp_arena *arena = &xp_arenas[index];
        bool is_new = index == xp_arena_count();
        if (is_new && !xp_arena_reserve_locked(NULL))
            return NULL;
        if (arena->reserved == 0 && !xp_arena_reserve_locked(arena))
            continue;
        /* A run may end up in the next segment, and an aligned one farther on: up to three
         * segments are opened before the arena is given up. */
        uint32_t want = count + (uint32_t)(align >> XP_SLICE_SHIFT) - 1;
        for (uint32_t commits = 0; commits <= COMMITS_MOST; commits++) {
            page = find_run_locked(index, count, align, false, ret_clean);
            if (page || !has_room(index) || !xp_arena_commit_locked(index, want))
                break;
        }
    }
    return page;
}

struct xp_page *xp_slices_take(uint32_t count, size_t align, bool *ret_clean)
{
    if (!xp_limits_heap_allows((size_t)count << XP_SLICE_SHIFT) || !xp_slices_lock())
        return NULL;
    struct xp_page *page = take_locked(count, align, ret_clean);
    xp_lock_give(&xp_arena_lock);
    return page;
}

/* ---- giving ---- */

void xp_slices_give(struct xp_page *page, bool clean, bool later)
{
    if (later || !xp_slices_lock()) {
        push_later(page);
        return;
    }
    give_locked(page, clean);
    xp_lock_give(&xp_arena_lock);
}

bool xp_slices_resize(struct xp_page *page, uint32_t count)
{
    struct xp_arena *arena = &xp_arenas[page->arena];
    size_t slice = (size_t)(page - arena->pages);
    uint32_t first, old = page->slices;
    struct xp_segment *segment = segment_of(page, &first);

    if (count == old)
        return true;
    if (count > XP_SEGMENT_SLICES - first ||
        (count > old && !xp_limits_heap_allows((size_t)(count - old) << XP_SLICE_SHIFT)) ||
        !xp_slices_lock())
        return false;
    bool done = true;
    if (count < old) {
        struct xp_page *tail = page + count;
        page->slices = (uint16_t)count;
        tail->slices = (uint16_t)(old - count);
        give_locked(tail, false);
    } else if (xp_run_count(segment->free, first + old, count - old) == count - old) {
        bool clean;
        take_run(arena, (uint32_t)(slice / XP_SEGMENT_SLICES), first + old, count - old, &clean);
        atomic_store_explicit(&(page + old)->owner, XP_OWNER_NONE, memory_order_relaxed);
        for (uint32_t i = old; i < count; i++)
            atomic_store_explicit(&arena->map[slice + i], page, memory_order_relaxed);
        page->slices = (uint16_t)count;
    } else {
        done = false;
    }
    xp_lock_give(&xp_arena_lock);
    return done;
}

/* ---- what is to go back to the system ---- */

/* Time has passed: what was aged is ripe, what is dirty now is aged. */
static void grow_older(struct xp_segment *segment, uint64_t now_ns)
{
    for (uint32_t w = 0; w < XP_SEGMENT_WORDS; w++) {
        segment->ripe[w] |= segment->aged[w];
        segment->aged[w] = segment->dirty[w];
    }
    segment->aged_ns = now_ns;
}

/* The next run in the segment: from a wanted slice to the last wanted one of the same free run. */
static bool find_dirty(struct xp_segment *segment, struct xp_dirty_cursor *cursor,
                       uint32_t *ret_first, uint32_t *ret_count)
{
    const uint64_t *words = cursor->period_ns ? segment->ripe : segment->dirty;

    while (cursor->slice < XP_SEGMENT_SLICES) {
        uint32_t first = xp_run_next_set(words, cursor->slice);
        if (first == XP_SEGMENT_SLICES)
            return false;
        uint32_t end = xp_run_next_clear(segment->free, first);
        if (end > first + cursor->run_most)
            end = first + cursor->run_most;
        cursor->slice = end > first ? end : first + 1;
        while (end > first && xp_run_count(words, end - 1, 1) == 0)
            end--;
        if (end - first >= cursor->run_least) {
            *ret_first = first;
            *ret_count = end - first;
            return true;
        }
    }
    return false;
}

static struct xp_page *take_in_segment(struct xp_arena *arena, struct xp_dirty_cursor *cursor)
{
    uint32_t first, count;
    bool clean;

    if (cursor->segment >= segments_of(arena))
        return NULL;
    struct xp_segment *segment = &arena->segments[cursor->segment];
    if (segment->dirty_count < cursor->run_least)
        return NULL;
    if (cursor->period_ns && cursor->now_ns - segment->aged_ns >= cursor->period_ns)
        grow_older(segment, cursor->now_ns);
    if (!find_dirty(segment, cursor, &first, &count))
        return NULL;
    return take_bits(arena, cursor->segment, first, count, &clean);
}

static struct xp_page *take_dirty_locked(struct xp_dirty_cursor *cursor)
{
    for (;;) {
        struct xp_page *page = take_in_segment(&xp_arenas[cursor->arena], cursor);
        if (page)
            return page;
        cursor->slice = 0;
        while (cursor->segment == 0) {
            if (cursor->arena == 0)
                return NULL;
            cursor->arena--;
            cursor->segment = segments_of(&xp_arenas[cursor->arena]);
        }
        cursor->segment--;
    }
}

struct xp_page *xp_slices_take_dirty(struct xp_dirty_cursor *cursor)
{
    if (!xp_slices_lock())
        return NULL;
    if (!cursor->started) {
        cursor->started = true;
        cursor->arena = xp_arena_count() ? xp_arena_count() - 1 : 0;
        cursor->segment = segments_of(&xp_arenas[cursor->arena]);
        cursor->slice = 0;
    }
    struct xp_page *page = take_dirty_locked(cursor);
    xp_lock_give(&xp_arena_lock);
    return page;
}

void xp_slices_give_purged(struct xp_page *page, bool gone, uint64_t now_ns)
{
    uint32_t first;
    struct xp_segment *segment = segment_of(page, &first);

    if (!xp_slices_lock()) {
        atomic_fetch_add_explicit(&xp_arena_stats.used_slices, page->slices, memory_order_relaxed);
        push_later(page);
        return;
    }
    give_bits(page, gone);
    if (gone) {
        xp_run_set(segment->gone, first, page->slices);
        segment->gone_ns = now_ns;
    }
    xp_lock_give(&xp_arena_lock);
}
