/* SPDX-License-Identifier: MIT */
/* huge.c - blocks with a mapping of their own, found by a table that readers need no lock for. */
#include "core/huge.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/meta.h"
#include "base/os.h"
#include "core/limits.h"

#define TABLE_FIRST 256u
#define GONE        ((struct xp_huge *)1) /* an entry that was, so that probing goes on */

/* Open addressing. Tables are replaced when half of their entries were ever used, and used again
 * later. A reader that finds its block is right in any table; one that does not looks whether the
 * table was replaced meanwhile. */
struct table {
    uint32_t mask;      /* entries - 1 */
    struct table *next; /* outgrown ones */
    struct xp_huge *_Atomic entries[];
};

struct xp_lock xp_huge_lock = XP_LOCK_INIT(XP_RANK_HUGE);

static struct {
    struct table *_Atomic table;   /* release: entries are copied first */
    _Atomic uint32_t version;      /* of the choice of table; written under the lock */
    struct table *outgrown;        /* under the lock */
    uint32_t filled;               /* entries that are not NULL; under the lock */
    uint32_t live;                 /* blocks in the table; under the lock */
    struct xp_huge *spare;         /* under the lock; never unmapped: readers may hold one */
    struct xp_huge *stuck;         /* mappings that munmap refused, for reuse; under the lock */
    struct xp_huge *_Atomic later; /* to be destroyed by the next holder of the lock */
    _Atomic size_t bytes;
} state;

static uint32_t first_entry(const struct table *table, uintptr_t start)
{
    return (uint32_t)xp_hash_word(start >> 12) & table->mask;
}

static struct xp_huge *look_up(const struct table *table, uintptr_t p)
{
    for (uint32_t i = first_entry(table, p), n = 0; n <= table->mask;
         i = (i + 1) & table->mask, n++) {
        struct xp_huge *huge = atomic_load_explicit(&table->entries[i], memory_order_acquire);
        if (!huge)
            return NULL;
        if (huge != GONE && atomic_load_explicit(&huge->start, memory_order_relaxed) == p)
            return huge;
    }
    return NULL;
}

struct xp_huge *xp_huge_find(const void *p)
{
    if (((uintptr_t)p & (XP_OS_PAGE - 1)) != 0)
        return NULL;
    for (;;) {
        /* acquire: pairs with the releases in grow_locked() and insert_locked(). */
        uint32_t version = atomic_load_explicit(&state.version, memory_order_acquire);
        struct table *table = atomic_load_explicit(&state.table, memory_order_acquire);
        struct xp_huge *huge = table ? look_up(table, (uintptr_t)p) : NULL;
        if (huge || atomic_load_explicit(&state.version, memory_order_relaxed) == version)
            return huge;
    }
}

void xp_huge_each(void (*fn)(struct xp_huge *huge, void *arg), void *arg)
{
    struct table *table = atomic_load_explicit(&state.table, memory_order_acquire);

    for (uint32_t i = 0; table && i <= table->mask; i++) {
        struct xp_huge *huge = atomic_load_explicit(&table->entries[i], memory_order_acquire);
        if (huge && huge != GONE)
            fn(huge, arg);
    }
}

struct wanted {
    uintptr_t p;
    bool found;
};

static void look(struct xp_huge *huge, void *arg)
{
    struct wanted *wanted = arg;
    uintptr_t start = atomic_load_explicit(&huge->start, memory_order_relaxed);
    size_t size = atomic_load_explicit(&huge->size, memory_order_relaxed);

    if (wanted->p - start < size && atomic_load_explicit(&huge->live, memory_order_relaxed))
        wanted->found = true;
}

bool xp_huge_owns(const void *p)
{
    struct wanted wanted = {(uintptr_t)p, false};
    struct xp_huge *huge = xp_huge_find(p);

    if (huge)
        look(huge, &wanted);
    if (!wanted.found)
        xp_huge_each(look, &wanted);
    return wanted.found;
}

static void insert_locked(struct table *table, struct xp_huge *huge)
{
    uintptr_t start = atomic_load_explicit(&huge->start, memory_order_relaxed);

    for (uint32_t i = first_entry(table, start);; i = (i + 1) & table->mask) {
        struct xp_huge *there = atomic_load_explicit(&table->entries[i], memory_order_relaxed);
        if (there && there != GONE)
            continue;
        if (!there)
            state.filled++;
        atomic_store_explicit(&table->entries[i], huge, memory_order_release);
        return;
    }
}

static void remove_locked(struct xp_huge *huge)
{
    struct table *table = atomic_load_explicit(&state.table, memory_order_relaxed);
    uintptr_t start = atomic_load_explicit(&huge->start, memory_order_relaxed);

    for (uint32_t i = first_entry(table, start), n = 0; n <= table->mask;
         i = (i + 1) & table->mask, n++) {
        struct xp_huge *there = atomic_load_explicit(&table->entries[i], memory_order_relaxed);
        if (!there)
            return;
        if (there == huge) {
            atomic_store_explicit(&table->entries[i], GONE, memory_order_release);
            state.live--;
            return;
        }
    }
}

static struct table *take_table_locked(uint32_t entries)
{
    for (struct table **link = &state.outgrown; *link; link = &(*link)->next) {
        struct table *table = *link;
        if (table->mask + 1 != entries)
            continue;
        *link = table->next;
        for (uint32_t i = 0; i < entries; i++)
            atomic_store_explicit(&table->entries[i], NULL, memory_order_relaxed);
        return table;
    }
    struct table *table = xp_meta_map(sizeof(*table) + (size_t)entries * sizeof(table->entries[0]));
    if (table)
        table->mask = entries - 1;
    return table;
}

/* Room for one more entry: at most half of the table is filled. */
static bool grow_locked(void)
{
    struct table *old = atomic_load_explicit(&state.table, memory_order_relaxed);

    if (old && (state.filled + 1) * 2 <= old->mask + 1)
        return true;
    uint32_t entries = TABLE_FIRST;
    while (entries < (state.live + 1) * 4)
        entries *= 2;
    struct table *table = take_table_locked(entries);
    if (!table)
        return false;
    state.filled = 0;
    for (uint32_t i = 0; old && i <= old->mask; i++) {
        struct xp_huge *huge = atomic_load_explicit(&old->entries[i], memory_order_relaxed);
        if (huge && huge != GONE)
            insert_locked(table, huge);
    }
    atomic_store_explicit(&state.table, table, memory_order_release);
    /* release: a reader that sees an entry vanish from an outgrown table sees this too. */
    atomic_fetch_add_explicit(&state.version, 1, memory_order_release);
    if (old) {
        old->next = state.outgrown;
        state.outgrown = old;
    }
    return true;
}

static void spare_locked(struct xp_huge *huge)
{
    atomic_store_explicit(&huge->start, 0, memory_order_relaxed);
    huge->next = state.spare;
    state.spare = huge;
}

/* Out of the table, so that its address can be used again; the mapping itself still stands. */
static void retire_locked(struct xp_huge *huge)
{
    remove_locked(huge);
    atomic_fetch_sub_explicit(&state.bytes, atomic_load_explicit(&huge->size, memory_order_relaxed),
                              memory_order_relaxed);
}

static void unmap_locked(struct xp_huge *huge)
{
    void *start = (void *)atomic_load_explicit(&huge->start, memory_order_relaxed);
    size_t size = atomic_load_explicit(&huge->size, memory_order_relaxed);

    if (xp_os_unmap(start, size) == 0) {
        spare_locked(huge);
        return;
    }
    /* One mapping too many in the process: the memory goes, the addresses are used again. */
    xp_os_advise(start, size, MADV_DONTNEED);
    huge->next = state.stuck;
    state.stuck = huge;
}

static bool lock_huge(void)
{
    if (xp_limits_lock(&xp_huge_lock) < 0)
        return false;
    if (XP_UNLIKELY(atomic_load_explicit(&state.later, memory_order_relaxed) != NULL)) {
        struct xp_huge *huge = atomic_exchange_explicit(&state.later, NULL, memory_order_acquire);
        while (huge) {
            struct xp_huge *next = huge->next;
            retire_locked(huge);
            unmap_locked(huge);
            huge = next;
        }
    }
    return true;
}

/* A mapping of size bytes at a multiple of align. What sticks out goes back, if it can. */
static bool map_aligned(size_t size, size_t align, uintptr_t *ret_start)
{
    void *got;
    size_t extra = align > XP_OS_PAGE ? align - XP_OS_PAGE : 0;
    size_t total;

    if (!xp_add_ok(size, extra, &total) || xp_os_map(total, PROT_READ | PROT_WRITE, &got) < 0)
        return false;
    uintptr_t start = xp_align_up((uintptr_t)got, align > XP_OS_PAGE ? align : XP_OS_PAGE);
    uintptr_t end = (uintptr_t)got + total;
    if (start > (uintptr_t)got)
        xp_os_unmap(got, start - (uintptr_t)got);
    if (end > start + size)
        xp_os_unmap((void *)(start + size), end - (start + size));
    *ret_start = start;
    return true;
}

static struct xp_huge *take_stuck_locked(size_t size, size_t align)
{
    for (struct xp_huge **link = &state.stuck; *link; link = &(*link)->next) {
        struct xp_huge *huge = *link;
        size_t has = atomic_load_explicit(&huge->size, memory_order_relaxed);
        uintptr_t start = atomic_load_explicit(&huge->start, memory_order_relaxed);
        if (has < size || has / 2 > size || (start & (align - 1)) != 0)
            continue;
        /* It must read as zero, and the first try may have been refused. */
        if (xp_os_advise((void *)start, has, MADV_DONTNEED) < 0)
            continue;
        *link = huge->next;
        return huge;
    }
    return NULL;
}

static struct xp_huge *take_spare_locked(void)
{
    struct xp_huge *huge = state.spare;

    if (!huge)
        return xp_meta_alloc(sizeof(*huge), XP_CACHE_LINE);
    state.spare = huge->next;
    return huge;
}

/* start and size are set. */
static void publish_locked(struct xp_huge *huge)
{
    atomic_store_explicit(&huge->sampled, 0, memory_order_relaxed);
    atomic_store_explicit(&huge->live, 1, memory_order_relaxed);
    insert_locked(atomic_load_explicit(&state.table, memory_order_relaxed), huge);
    state.live++;
    atomic_fetch_add_explicit(&state.bytes, atomic_load_explicit(&huge->size, memory_order_relaxed),
                              memory_order_relaxed);
}

static struct xp_huge *create_locked(size_t size, size_t align)
{
    uintptr_t start;
    struct xp_huge *huge = take_stuck_locked(size, align);

    if (!huge) {
        huge = take_spare_locked();
        if (!huge)
            return NULL;
        if (!map_aligned(size, align, &start)) {
            spare_locked(huge);
            return NULL;
        }
        atomic_store_explicit(&huge->size, size, memory_order_relaxed);
        atomic_store_explicit(&huge->start, start, memory_order_relaxed);
    }
    publish_locked(huge);
    return huge;
}

static struct xp_huge *adopt_locked(uintptr_t start, size_t size)
{
    struct xp_huge *huge = take_spare_locked();

    if (huge) {
        atomic_store_explicit(&huge->size, size, memory_order_relaxed);
        atomic_store_explicit(&huge->start, start, memory_order_relaxed);
        publish_locked(huge);
    }
    return huge;
}

/* start 0: a new mapping. */
static struct xp_huge *make(uintptr_t start, size_t size, size_t align)
{
    struct xp_huge *huge = NULL;
    uint64_t signals;

    /* Base's memory has a lock that cannot be given up: no handler may leave it by a jump. */
    xp_os_block_signals(&signals);
    if (lock_huge()) {
        if (grow_locked())
            huge = start ? adopt_locked(start, size) : create_locked(size, align);
        xp_lock_give(&xp_huge_lock);
    }
    xp_os_restore_signals(&signals);
    return huge;
}

struct xp_huge *xp_huge_create(size_t size, size_t align)
{
    if (size > PTRDIFF_MAX - XP_OS_PAGE || !xp_limits_heap_allows(size))
        return NULL;
    return make(0, xp_align_up(size, XP_OS_PAGE), align);
}

struct xp_huge *xp_huge_adopt(void *start, size_t size)
{
    return make((uintptr_t)start, size, XP_OS_PAGE);
}

void xp_huge_destroy(struct xp_huge *huge, bool later)
{
    if (later || !lock_huge()) {
        struct xp_huge *head = atomic_load_explicit(&state.later, memory_order_relaxed);
        do {
            huge->next = head;
            /* release: pairs with the exchange in lock_huge(). */
        } while (!atomic_compare_exchange_weak_explicit(
            &state.later, &head, huge, memory_order_release, memory_order_relaxed));
        return;
    }
    retire_locked(huge);
    unmap_locked(huge);
    xp_lock_give(&xp_huge_lock);
}

/* By another address: out of the table before the kernel may give the old one to somebody else. */
static int move(struct xp_huge *huge, size_t old_size, size_t size)
{
    void *start = (void *)atomic_load_explicit(&huge->start, memory_order_relaxed);
    void *moved;

    if (!lock_huge())
        return -ETIMEDOUT;
    int r = -ENOMEM;
    if (grow_locked()) {
        remove_locked(huge);
        r = xp_os_remap(start, old_size, size, true, &moved);
        if (r == 0)
            atomic_store_explicit(&huge->start, (uintptr_t)moved, memory_order_relaxed);
        insert_locked(atomic_load_explicit(&state.table, memory_order_relaxed), huge);
        state.live++;
    }
    xp_lock_give(&xp_huge_lock);
    return r;
}

int xp_huge_resize(struct xp_huge *huge, size_t size)
{
    void *start = (void *)atomic_load_explicit(&huge->start, memory_order_relaxed);
    size_t old = atomic_load_explicit(&huge->size, memory_order_relaxed);
    void *same;

    if (size > PTRDIFF_MAX - XP_OS_PAGE)
        return -ENOMEM;
    size = xp_align_up(size, XP_OS_PAGE);
    if (size == old)
        return 0;
    if (size > old && !xp_limits_heap_allows(size - old))
        return -ENOMEM;
    int r = xp_os_remap(start, old, size, false, &same);
    if (r < 0) {
        uint64_t signals;
        xp_os_block_signals(&signals);
        r = move(huge, old, size);
        xp_os_restore_signals(&signals);
    }
    if (r < 0)
        return r;
    atomic_store_explicit(&huge->size, size, memory_order_relaxed);
    atomic_fetch_add_explicit(&state.bytes, size - old, memory_order_relaxed);
    return 0;
}

size_t xp_huge_bytes(void)
{
    return atomic_load_explicit(&state.bytes, memory_order_relaxed);
}
