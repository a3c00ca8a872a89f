/* SPDX-License-Identifier: MIT */
/* arena.c - address space: reserved once, committed as needed, handed out in runs of slices. */
#include "core/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "base/os.h"
#include "base/panic.h"
#include "core/limits.h"
#include "core/runs.h"

/* Small steps, because a program under mlockall pays for all of each at once. */
#define COMMIT_SLICES 64u
#define RESERVE_FIRST ((size_t)1 << 40)
#define RESERVE_LEAST ((size_t)1 << 20)

struct xp_arena xp_arenas[XP_ARENAS];
struct xp_arena_stats xp_arena_stats;
struct xp_lock xp_arena_lock = XP_LOCK_INIT(XP_RANK_SEGMENT);

static struct {
    _Atomic uint32_t count; /* arenas in use; release after the arena is whole */
    size_t next_bytes;      /* what the next reservation tries first; under the lock */
    /* Runs to be given back by the next holder of the lock: chained by next; pushed by CAS, taken
     * whole by exchange. */
    struct xp_page *_Atomic later;
} state;

struct xp_page *xp_arena_page_of(const void *p)
{
    /* acquire: pairs with the release in add_arena(). */
    uint32_t count = atomic_load_explicit(&state.count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        struct xp_arena *arena = &xp_arenas[i];
        uintptr_t offset = (uintptr_t)p - atomic_load_explicit(&arena->base, memory_order_relaxed);
        /* acquire: pairs with the release in commit(): the map is filled up to there. */
        if (offset < atomic_load_explicit(&arena->limit, memory_order_acquire))
            return atomic_load_explicit(&arena->map[offset >> XP_SLICE_SHIFT],
                                        memory_order_relaxed);
    }
    return NULL;
}

/* Address space at a multiple of align. What sticks out is no harm if it cannot go. */
static bool reserve_aligned(size_t bytes, size_t align, uintptr_t *ret_base)
{
    void *body;

    if (xp_os_reserve(bytes + align, &body) < 0)
        return false;
    uintptr_t base = xp_align_up((uintptr_t)body, align);
    if (base > (uintptr_t)body)
        xp_os_unmap(body, base - (uintptr_t)body);
    if ((uintptr_t)body + align > base)
        xp_os_unmap((void *)(base + bytes), (uintptr_t)body + align - base);
    *ret_base = base;
    return true;
}

static size_t base_align(size_t bytes)
{
    return bytes >= ((size_t)1 << 30) ? XP_SEGMENT_SIZE : XP_SLICE;
}

/* One reservation for what describes the slices, one for the slices. */
static bool add_arena(size_t bytes)
{
    uint32_t index = atomic_load_explicit(&state.count, memory_order_relaxed);
    if (index == XP_ARENAS)
        return false;
    size_t slices = bytes >> XP_SLICE_SHIFT;
    size_t segments = (slices + XP_SEGMENT_SLICES - 1) / XP_SEGMENT_SLICES;
    size_t segment_bytes = xp_align_up(segments * sizeof(struct xp_segment), XP_OS_PAGE);
    size_t map_bytes = xp_align_up(slices * sizeof(struct xp_page *), XP_OS_PAGE);
    size_t page_bytes = xp_align_up(slices * sizeof(struct xp_page), XP_OS_PAGE);
    uintptr_t base;
    void *meta;

    if (xp_os_reserve(segment_bytes + map_bytes + page_bytes, &meta) < 0)
        return false;
    if (!reserve_aligned(bytes, base_align(bytes), &base)) {
        xp_os_unmap(meta, segment_bytes + map_bytes + page_bytes);
        return false;
    }
    struct xp_arena *arena = &xp_arenas[index];
    arena->segments = meta;
    arena->map = (void *)((char *)meta + segment_bytes);
    arena->pages = (void *)((char *)meta + segment_bytes + map_bytes);
    arena->reserved = bytes;
    arena->slices_max = slices;
    atomic_store_explicit(&arena->base, base, memory_order_relaxed);
    atomic_store_explicit(&arena->limit, 0, memory_order_relaxed);
    atomic_store_explicit(&state.count, index + 1, memory_order_release);
    return true;
}

/* A vacant arena gets addresses again, as many as before or fewer. */
static bool reoccupy(struct xp_arena *arena, size_t bytes)
{
    uintptr_t base;

    if (bytes > arena->slices_max << XP_SLICE_SHIFT)
        bytes = arena->slices_max << XP_SLICE_SHIFT;
    if (bytes == 0 || !reserve_aligned(bytes, base_align(bytes), &base))
        return false;
    atomic_store_explicit(&arena->base, base, memory_order_relaxed);
    arena->reserved = bytes;
    return true;
}

/* Tries the wanted size, then halves. */
static bool reserve_locked(struct xp_arena *vacant)
{
    size_t bytes = state.next_bytes;
    size_t fair = xp_limits_fair_reservation();

    if (fair && bytes > fair)
        bytes = fair;
    for (bytes = xp_align_down(bytes, RESERVE_LEAST); bytes >= RESERVE_LEAST;
         bytes = xp_align_down(bytes / 2, RESERVE_LEAST)) {
        if (vacant ? reoccupy(vacant, bytes) : add_arena(bytes)) {
            state.next_bytes = bytes;
            return true;
        }
    }
    return false;
}

void xp_arena_init(const struct xp_core_options *options)
{
    xp_lock_take(&xp_arena_lock);
    state.next_bytes = options->reserve_bytes ? options->reserve_bytes : RESERVE_FIRST;
    if (state.next_bytes < RESERVE_LEAST)
        state.next_bytes = RESERVE_LEAST;
    reserve_locked(NULL); /* tried again when slices are wanted */
    xp_lock_give(&xp_arena_lock);
}

bool xp_arena_is_usable(void)
{
    return atomic_load_explicit(&state.count, memory_order_acquire) > 0;
}

/* mprotect of whole OS pages around [start, start + size): doing it twice does no harm. */
static bool unprotect(void *start, size_t size)
{
    uintptr_t from = xp_align_down((uintptr_t)start, XP_OS_PAGE);
    uintptr_t to = xp_align_up((uintptr_t)start + size, XP_OS_PAGE);
    return xp_os_protect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0;
}

/* Commits the next slices of the arena: at least `wanted` if they end within the segment. */
static bool commit_locked(uint32_t index, uint32_t wanted)
{
    struct xp_arena *arena = &xp_arenas[index];
    uintptr_t base = atomic_load_explicit(&arena->base, memory_order_relaxed);
    size_t limit = atomic_load_explicit(&arena->limit, memory_order_relaxed);
    size_t first = limit >> XP_SLICE_SHIFT;
    size_t left = (arena->reserved >> XP_SLICE_SHIFT) - first;
    uint32_t to_segment_end = XP_SEGMENT_SLICES - (uint32_t)(first % XP_SEGMENT_SLICES);
    uint32_t count = wanted > COMMIT_SLICES ? wanted : COMMIT_SLICES;

    if (count > to_segment_end)
        count = to_segment_end;
    if (count > left)
        count = (uint32_t)left;
    if (count == 0)
        return false;
    struct xp_segment *segment = &arena->segments[first / XP_SEGMENT_SLICES];
    if (!unprotect(&arena->map[first], count * sizeof(arena->map[0])) ||
        !unprotect(&arena->pages[first], count * sizeof(struct xp_page)) ||
        !unprotect(segment, sizeof(*segment)))
        return false;
    while (xp_os_protect((void *)(base + limit), count * XP_SLICE, PROT_READ | PROT_WRITE) < 0) {
        /* A commit limit may still allow a smaller piece. */
        if (count == 1)
            return false;
        count /= 2;
    }
    for (size_t i = first; i < first + count; i++) {
        arena->pages[i].arena = (uint8_t)index;
        atomic_store_explicit(&arena->map[i], &arena->pages[i], memory_order_relaxed);
    }
    /* release: whoever sees the limit sees the map. */
    atomic_store_explicit(&arena->limit, limit + count * XP_SLICE, memory_order_release);
    xp_run_set(segment->free, (uint32_t)(first % XP_SEGMENT_SLICES), count);
    segment->run_bound = XP_SEGMENT_SLICES;
    atomic_fetch_add_explicit(&xp_arena_stats.committed_bytes, count * XP_SLICE,
                              memory_order_relaxed);
    return true;
}

static uint32_t segments_of(const struct xp_arena *arena)
{
    size_t limit = atomic_load_explicit(&arena->limit, memory_order_relaxed);
    return (uint32_t)((limit + XP_SEGMENT_SIZE - 1) / XP_SEGMENT_SIZE);
}

static void note_dirty(struct xp_segment *segment, uint32_t first, uint32_t count, bool dirty)
{
    if (dirty) {
        uint32_t before = xp_run_count(segment->dirty, first, count);
        xp_run_set(segment->dirty, first, count);
        segment->dirty_count += count - before;
        atomic_fetch_add_explicit(&xp_arena_stats.dirty_slices, count - before,
                                  memory_order_relaxed);
        if (segment->dirty_since_ns == 0)
            segment->dirty_since_ns = xp_os_now_coarse_ns();
    } else {
        uint32_t gone = xp_run_count(segment->dirty, first, count);
        xp_run_clear(segment->dirty, first, count);
        segment->dirty_count -= gone;
        atomic_fetch_sub_explicit(&xp_arena_stats.dirty_slices, gone, memory_order_relaxed);
        if (segment->dirty_count == 0)
            segment->dirty_since_ns = 0;
    }
}

static struct xp_page *take_run(struct xp_arena *arena, uint32_t segment_index, uint32_t first,
                                uint32_t count, bool *ret_clean)
{
    struct xp_segment *segment = &arena->segments[segment_index];
    size_t slice = (size_t)segment_index * XP_SEGMENT_SLICES + first;
    struct xp_page *page = &arena->pages[slice];

    xp_run_clear(segment->free, first, count);
    *ret_clean = xp_run_count(segment->dirty, first, count) == 0;
    if (!*ret_clean)
        note_dirty(segment, first, count, false);
    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&arena->map[slice + i], page, memory_order_relaxed);
    page->slices = (uint16_t)count;
    page->flags = 0;
    atomic_store_explicit(&page->owner, XP_OWNER_CLAIMED, memory_order_relaxed);
    arena->used += count;
    size_t used =
        atomic_fetch_add_explicit(&xp_arena_stats.used_slices, count, memory_order_relaxed) + count;
    if (used > atomic_load_explicit(&xp_arena_stats.peak_slices, memory_order_relaxed))
        atomic_store_explicit(&xp_arena_stats.peak_slices, used, memory_order_relaxed);
    return page;
}

static struct xp_page *find_run_locked(uint32_t index, uint32_t count, size_t align,
                                       bool *ret_clean)
{
    struct xp_arena *arena = &xp_arenas[index];
    uintptr_t base = atomic_load_explicit(&arena->base, memory_order_relaxed);
    uint32_t segments = segments_of(arena);

    for (uint32_t i = 0; i < segments; i++) {
        struct xp_segment *segment = &arena->segments[i];
        if (segment->run_bound < count)
            continue;
        uint32_t first, longest;
        size_t at = (base >> XP_SLICE_SHIFT) + (size_t)i * XP_SEGMENT_SLICES;
        if (xp_run_find(segment->free, count, at, align >> XP_SLICE_SHIFT, &first, &longest))
            return take_run(arena, i, first, count, ret_clean);
        segment->run_bound = longest;
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
    for (uint32_t index = 0; index < XP_ARENAS; index++) {
        struct xp_arena *arena = &xp_arenas[index];
        bool is_new = index == atomic_load_explicit(&state.count, memory_order_relaxed);
        if (is_new && !reserve_locked(NULL))
            return NULL;
        if (arena->reserved == 0 && !reserve_locked(arena))
            continue;
        /* A run may end up in the next segment, and an aligned one farther on: up to three
         * segments are opened before the arena is given up. */
        uint32_t want = count + (uint32_t)(align >> XP_SLICE_SHIFT) - 1;
        for (uint32_t commits = 0; commits < 3 * XP_SEGMENT_SLICES / COMMIT_SLICES; commits++) {
            struct xp_page *page = find_run_locked(index, count, align, ret_clean);
            if (page)
                return page;
            if (!has_room(index) || !commit_locked(index, want))
                break;
        }
    }
    return NULL;
}

static void give_locked(struct xp_page *page, bool clean)
{
    struct xp_arena *arena = &xp_arenas[page->arena];
    size_t slice = (size_t)(page - arena->pages);
    struct xp_segment *segment = &arena->segments[slice / XP_SEGMENT_SLICES];
    uint32_t first = (uint32_t)(slice % XP_SEGMENT_SLICES), count = page->slices;

    for (uint32_t i = 0; i < count; i++)
        atomic_store_explicit(&arena->map[slice + i], &arena->pages[slice + i],
                              memory_order_relaxed);
    if (!clean)
        note_dirty(segment, first, count, true);
    atomic_store_explicit(&page->owner, XP_OWNER_NONE, memory_order_relaxed);
    xp_run_set(segment->free, first, count);
    segment->run_bound = XP_SEGMENT_SLICES;
    arena->used -= count;
    atomic_fetch_sub_explicit(&xp_arena_stats.used_slices, count, memory_order_relaxed);
}

static void give_later_ones_locked(void)
{
    if (XP_LIKELY(atomic_load_explicit(&state.later, memory_order_relaxed) == NULL))
        return;
    /* acquire: pairs with the release in push_later(). */
    struct xp_page *page = atomic_exchange_explicit(&state.later, NULL, memory_order_acquire);
    while (page) {
        struct xp_page *next = page->next;
        give_locked(page, false);
        page = next;
    }
}

static void push_later(struct xp_page *page)
{
    struct xp_page *head = atomic_load_explicit(&state.later, memory_order_relaxed);
    do {
        page->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&state.later, &head, page, memory_order_release,
                                                    memory_order_relaxed));
}

static bool lock_arena(void)
{
    if (xp_limits_lock(&xp_arena_lock) < 0)
        return false;
    give_later_ones_locked();
    return true;
}

struct xp_page *xp_slices_take(uint32_t count, size_t align, bool *ret_clean)
{
    if (!lock_arena())
        return NULL;
    struct xp_page *page = take_locked(count, align, ret_clean);
    xp_lock_give(&xp_arena_lock);
    return page;
}

void xp_slices_give(struct xp_page *page, bool clean, bool later)
{
    if (later || !lock_arena()) {
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
    struct xp_segment *segment = &arena->segments[slice / XP_SEGMENT_SLICES];
    uint32_t first = (uint32_t)(slice % XP_SEGMENT_SLICES), old = page->slices;

    if (count == old)
        return true;
    if (count > XP_SEGMENT_SLICES - first || !lock_arena())
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

/* The next run in the segment: from a dirty slice to the last dirty one of the same free run. */
static bool find_dirty(const struct xp_segment *segment, struct xp_dirty_cursor *cursor,
                       uint32_t *ret_first, uint32_t *ret_count)
{
    while (cursor->slice < XP_SEGMENT_SLICES) {
        uint32_t first = xp_run_next_set(segment->dirty, cursor->slice);
        if (first == XP_SEGMENT_SLICES)
            return false;
        uint32_t end = xp_run_next_clear(segment->free, first);
        if (end > first + cursor->run_most)
            end = first + cursor->run_most;
        cursor->slice = end > first ? end : first + 1;
        while (end > first && xp_run_count(segment->dirty, end - 1, 1) == 0)
            end--;
        if (end - first >= cursor->run_least) {
            *ret_first = first;
            *ret_count = end - first;
            return true;
        }
    }
    return false;
}

struct xp_page *xp_slices_take_dirty(struct xp_dirty_cursor *cursor)
{
    struct xp_page *page = NULL;

    if (!lock_arena())
        return NULL;
    for (; !page && cursor->arena < atomic_load_explicit(&state.count, memory_order_relaxed);
         cursor->arena++, cursor->segment = 0) {
        struct xp_arena *arena = &xp_arenas[cursor->arena];
        for (; cursor->segment < segments_of(arena); cursor->segment++, cursor->slice = 0) {
            struct xp_segment *segment = &arena->segments[cursor->segment];
            uint32_t first, count;
            bool clean;
            if (segment->dirty_count < cursor->run_least ||
                segment->dirty_since_ns > cursor->older_than_ns ||
                !find_dirty(segment, cursor, &first, &count))
                continue;
            page = take_run(arena, cursor->segment, first, count, &clean);
            break;
        }
        if (page)
            break;
    }
    xp_lock_give(&xp_arena_lock);
    return page;
}

/* Each table ends with its OS page, and the next begins with one. */
static void unmap_tail(void *unused, void *end)
{
    uintptr_t from = xp_align_up((uintptr_t)unused, XP_OS_PAGE);
    uintptr_t to = xp_align_up((uintptr_t)end, XP_OS_PAGE);

    if (to > from)
        xp_os_unmap((void *)from, to - from);
}

/* What is unmapped behind `keep` bytes: the slices themselves, and what would describe them. */
static void shorten(struct xp_arena *arena, size_t keep)
{
    size_t slices = keep >> XP_SLICE_SHIFT;
    uintptr_t base = atomic_load_explicit(&arena->base, memory_order_relaxed);

    if (keep >= arena->reserved || xp_os_unmap((void *)(base + keep), arena->reserved - keep) < 0)
        return;
    arena->reserved = keep;
    size_t segments = (slices + XP_SEGMENT_SLICES - 1) / XP_SEGMENT_SLICES;
    size_t segments_max = (arena->slices_max + XP_SEGMENT_SLICES - 1) / XP_SEGMENT_SLICES;
    unmap_tail(&arena->pages[slices], &arena->pages[arena->slices_max]);
    unmap_tail(&arena->map[slices], &arena->map[arena->slices_max]);
    unmap_tail(&arena->segments[segments], &arena->segments[segments_max]);
    arena->slices_max = slices;
}

void xp_arena_give_up_reserve(uint64_t limit)
{
    if (!lock_arena())
        return;
    uint32_t count = atomic_load_explicit(&state.count, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        struct xp_arena *arena = &xp_arenas[i];
        size_t keep = atomic_load_explicit(&arena->limit, memory_order_relaxed);
        size_t fair = xp_align_down(limit / XP_FAIR_SHARE, XP_SLICE);
        if (i == 0 && keep < fair)
            keep = fair; /* the one that the fast path knows */
        if (arena->reserved)
            shorten(arena, keep);
    }
    xp_lock_give(&xp_arena_lock);
}

/* Nobody has a pointer into it, so that a stranger may live at its addresses. */
static bool vacate(struct xp_arena *arena)
{
    uintptr_t base = atomic_load_explicit(&arena->base, memory_order_relaxed);
    size_t limit = atomic_load_explicit(&arena->limit, memory_order_relaxed);

    atomic_store_explicit(&arena->limit, 0, memory_order_release);
    if (xp_os_unmap((void *)base, arena->reserved) < 0) {
        atomic_store_explicit(&arena->limit, limit, memory_order_release);
        return false;
    }
    for (size_t i = 0; i < (limit + XP_SEGMENT_SIZE - 1) / XP_SEGMENT_SIZE; i++) {
        struct xp_segment *segment = &arena->segments[i];
        note_dirty(segment, 0, XP_SEGMENT_SLICES, false);
        xp_run_clear(segment->free, 0, XP_SEGMENT_SLICES);
        segment->run_bound = 0;
    }
    arena->reserved = 0;
    atomic_fetch_sub_explicit(&xp_arena_stats.committed_bytes, limit, memory_order_relaxed);
    return true;
}

bool xp_arena_unmap_unused(void)
{
    bool any = false;

    if (!lock_arena())
        return false;
    uint32_t count = atomic_load_explicit(&state.count, memory_order_relaxed);
    for (uint32_t i = 1; i < count; i++) {
        if (xp_arenas[i].reserved && xp_arenas[i].used == 0)
            any |= vacate(&xp_arenas[i]);
    }
    xp_lock_give(&xp_arena_lock);
    return any;
}

void xp_arena_each_page(void (*fn)(struct xp_page *page, void *arg), void *arg)
{
    /* acquire: as in xp_arena_page_of(). */
    uint32_t count = atomic_load_explicit(&state.count, memory_order_acquire);

    for (uint32_t i = 0; i < count; i++) {
        struct xp_arena *arena = &xp_arenas[i];
        size_t slices = atomic_load_explicit(&arena->limit, memory_order_acquire) >> XP_SLICE_SHIFT;
        for (size_t slice = 0; slice < slices; slice++)
            fn(&arena->pages[slice], arg);
    }
}
