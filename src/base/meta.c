/* SPDX-License-Identifier: MIT */
/* meta.c - memory for ourselves: never the program's heap. */
#include "base/meta.h"

#include <string.h>
#include <sys/mman.h>

#include "base/bits.h"
#include "base/os.h"

#define CHUNK_SIZE ((size_t)1 << 20)
#define WAIT_NS    ((uint64_t)100 * 1000 * 1000)

struct range {
    struct range *next;
    uintptr_t start;
    size_t size;
};

/* The locks of this file are held with signals blocked: handlers allocate, fork and jump. */
static struct {
    struct xp_lock lock;   /* guards all below */
    char *bump, *end;      /* unused rest of the newest chunk */
    struct range *ranges;  /* mapped now */
    struct range *spare;   /* nodes of ranges that are gone */
    _Atomic size_t mapped; /* bytes; read without the lock */
} meta = {.lock = XP_LOCK_INIT(XP_RANK_META)};

/* A fork holds the lock while it waits for others in libc and in handlers, and those may wait for
 * us: nobody that malloc can reach waits for ever. What the forking thread itself runs meanwhile,
 * handlers of other libraries for example, need not wait at all. */
static bool take(struct xp_lock *lock, uint64_t *ret_signals)
{
    xp_os_block_signals(ret_signals);
    if (!xp_lock_mine(lock) && xp_lock_take_bounded(lock, WAIT_NS) == 0)
        return true;
    xp_os_restore_signals(ret_signals);
    return false;
}

static void note_range(struct range *node, void *start, size_t size)
{
    node->start = (uintptr_t)start;
    node->size = size;
    node->next = meta.ranges;
    meta.ranges = node;
    atomic_fetch_add_explicit(&meta.mapped, size, memory_order_relaxed);
}

static void *bump_locked(size_t size, size_t align)
{
    char *at = (char *)xp_align_up((uintptr_t)meta.bump, align);

    if (meta.bump == NULL || at > meta.end || size > (size_t)(meta.end - at)) {
        /* The node that names the chunk lives in the chunk itself. */
        size_t chunk = xp_align_up(size + align + sizeof(struct range) + 16, CHUNK_SIZE);
        void *start;
        if (xp_os_map(chunk, PROT_READ | PROT_WRITE, &start) < 0)
            return NULL;
        note_range(start, start, chunk);
        meta.bump = (char *)start + sizeof(struct range);
        meta.end = (char *)start + chunk;
        at = (char *)xp_align_up((uintptr_t)meta.bump, align);
    }
    meta.bump = at + size;
    return at;
}

void *xp_meta_alloc(size_t size, size_t align)
{
    uint64_t signals;

    if (!take(&meta.lock, &signals))
        return NULL;
    void *p = bump_locked(size, align);
    xp_lock_give_restore(&meta.lock, &signals);
    return p;
}

static void *map_locked(size_t size)
{
    void *start = NULL;
    struct range *node = meta.spare;
    if (node)
        meta.spare = node->next;
    else
        node = bump_locked(sizeof(*node), 16);
    if (node && xp_os_map(size, PROT_READ | PROT_WRITE, &start) == 0) {
        note_range(node, start, size);
    } else if (node) {
        start = NULL;
        node->next = meta.spare;
        meta.spare = node;
    }
    return start;
}

void *xp_meta_map(size_t size)
{
    uint64_t signals;

    if (!take(&meta.lock, &signals))
        return NULL;
    void *start = map_locked(xp_align_up(size, XP_OS_PAGE));
    xp_lock_give_restore(&meta.lock, &signals);
    return start;
}

void xp_meta_unmap(void *start, size_t size)
{
    uint64_t signals;

    if (!start)
        return;
    size = xp_align_up(size, XP_OS_PAGE);
    if (!take(&meta.lock, &signals)) {
        xp_os_advise(start, size, MADV_DONTNEED); /* stays ours, without memory */
        return;
    }
    for (struct range **link = &meta.ranges; *link; link = &(*link)->next) {
        struct range *node = *link;
        if (node->start != (uintptr_t)start)
            continue;
        if (xp_os_unmap(start, size) == 0) {
            *link = node->next;
            node->next = meta.spare;
            meta.spare = node;
            atomic_fetch_sub_explicit(&meta.mapped, size, memory_order_relaxed);
        } else {
            /* No room for one more mapping: at least the memory goes back. */
            xp_os_advise(start, size, MADV_DONTNEED);
        }
        break;
    }
    xp_lock_give_restore(&meta.lock, &signals);
}

_Atomic uint32_t *xp_meta_fork_word(void)
{
    _Atomic uint32_t *word = xp_meta_map(XP_OS_PAGE);

    if (word && xp_os_advise((void *)word, XP_OS_PAGE, MADV_WIPEONFORK) < 0) {
        xp_meta_unmap((void *)word, XP_OS_PAGE);
        return NULL;
    }
    if (word)
        atomic_store_explicit(word, 1, memory_order_relaxed);
    return word;
}

void *xp_pool_take(struct xp_pool *pool)
{
    uint64_t signals;

    void *item = NULL;
    if (take(&pool->lock, &signals)) {
        item = pool->free;
        if (item) {
            memcpy(&pool->free, item, sizeof(void *));
            memset(item, 0, sizeof(void *));
        }
        xp_lock_give_restore(&pool->lock, &signals);
    }
    return item ? item : xp_meta_alloc(pool->item_size, 16);
}

void xp_pool_put(struct xp_pool *pool, void *item)
{
    uint64_t signals;

    if (!take(&pool->lock, &signals))
        return; /* one item less to take again */
    memcpy(item, &pool->free, sizeof(void *));
    pool->free = item;
    xp_lock_give_restore(&pool->lock, &signals);
}

void xp_meta_each(void (*fn)(uintptr_t start, size_t size, void *arg), void *arg)
{
    uint64_t signals;

    xp_lock_take_masked(&meta.lock, &signals);
    for (struct range *node = meta.ranges; node; node = node->next)
        fn(node->start, node->size, arg);
    xp_lock_give_restore(&meta.lock, &signals);
}

size_t xp_meta_bytes(void)
{
    return atomic_load_explicit(&meta.mapped, memory_order_relaxed);
}

void xp_meta_fork_prepare(void)
{
    xp_lock_take(&meta.lock);
}

void xp_meta_fork_parent(void)
{
    xp_lock_give(&meta.lock);
}

void xp_meta_fork_child(void)
{
    xp_lock_reset(&meta.lock);
}
