/* SPDX-License-Identifier: MIT */
/* arena.c - address space: reserved once, committed as needed, given up when others want it. */
#include "core/arena.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/bits.h"
#include "base/os.h"
#include "core/limits.h"
#include "core/runs.h"
#include "core/slices.h"

/* Small steps, because a program under mlockall pays for all of each at once. */
#define COMMIT_SLICES 64u
#define RESERVE_FIRST ((size_t)1 << 40)
#define RESERVE_LEAST ((size_t)1 << 20)

struct xp_arena xp_arenas[XP_ARENAS];

static struct {
    _Atomic uint32_t count; /* arenas in use; release after the arena is whole */
    size_t next_bytes;      /* what the next reservation tries first; under the lock */
    int advice;             /* huge pages: what each committed piece is told, or 0; set once */
} state;

uint32_t xp_arena_count(void)
{
    /* acquire: pairs with the release in add_arena(). */
    return atomic_load_explicit(&state.count, memory_order_acquire);
}

struct xp_page *xp_arena_page_of(const void *p)
{
    uint32_t count = xp_arena_count();

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
bool xp_arena_reserve_locked(struct xp_arena *vacant)
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
    if (options->thp != XP_THP_SYSTEM)
        state.advice = options->thp == XP_THP_ALWAYS ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;
    xp_arena_reserve_locked(NULL); /* tried again when slices are wanted */
    xp_lock_give(&xp_arena_lock);
}

bool xp_arena_is_usable(void)
{
    return xp_arena_count() > 0;
}

/* mprotect of whole OS pages around [start, start + size): doing it twice does no harm. */
static bool unprotect(void *start, size_t size)
{
    uintptr_t from = xp_align_down((uintptr_t)start, XP_OS_PAGE);
    uintptr_t to = xp_align_up((uintptr_t)start + size, XP_OS_PAGE);
    return xp_os_protect((void *)from, to - from, PROT_READ | PROT_WRITE) == 0;
}

/* Commits the next slices of the arena: at least `wanted` if they end within the segment. */
bool xp_arena_commit_locked(uint32_t index, uint32_t wanted)
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
    if (state.advice)
        xp_os_advise((void *)(base + limit), count * XP_SLICE, state.advice);
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
    if (!xp_slices_lock())
        return;
    uint32_t count = xp_arena_count();
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
        xp_slices_forget_locked(segment);
        segment->run_bound = 0;
    }
    arena->reserved = 0;
    atomic_fetch_sub_explicit(&xp_arena_stats.committed_bytes, limit, memory_order_relaxed);
    return true;
}

bool xp_arena_unmap_unused(void)
{
    bool any = false;

    if (!xp_slices_lock())
        return false;
    uint32_t count = xp_arena_count();
    for (uint32_t i = 1; i < count; i++) {
        if (xp_arenas[i].reserved && xp_arenas[i].used == 0)
            any |= vacate(&xp_arenas[i]);
    }
    xp_lock_give(&xp_arena_lock);
    return any;
}

void xp_arena_each_page(void (*fn)(struct xp_page *page, void *arg), void *arg)
{
    uint32_t count = xp_arena_count();

    for (uint32_t i = 0; i < count; i++) {
        struct xp_arena *arena = &xp_arenas[i];
        size_t slices = atomic_load_explicit(&arena->limit, memory_order_acquire) >> XP_SLICE_SHIFT;
        for (size_t slice = 0; slice < slices; slice++)
            fn(&arena->pages[slice], arg);
    }
}
