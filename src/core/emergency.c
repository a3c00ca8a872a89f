/* SPDX-License-Identifier: MIT */
/* emergency.c - blocks for those who cannot use a heap. */
#include "core/emergency.h"

#include <sys/mman.h>

#include "base/bits.h"
#include "base/os.h"
#include "core/limits.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define CHUNKS      1024u
#define MAGIC_LIVE  0x786c6976656d6172ull
#define MAGIC_FREE  0x7866726565646d72ull

/* In front of each block. */
struct header {
    _Atomic uint64_t magic;
    uint64_t size; /* usable bytes */
};

struct chunk {
    _Atomic uintptr_t start; /* 0: not there yet; release after size */
    size_t size;
    /* Bytes used << 24 | live blocks: one word, so that the last free resets both at once. */
    _Atomic uint64_t state;
};
#define LIVE_BITS 24
#define LIVE_MASK (((uint64_t)1 << LIVE_BITS) - 1)

static struct {
    struct chunk chunks[CHUNKS];
    _Atomic uint32_t count; /* slots given out; their start may still be 0 */
} emergency XP_BULK;

static uint32_t chunk_count(void)
{
    uint32_t count = atomic_load_explicit(&emergency.count, memory_order_acquire);
    return count < CHUNKS ? count : CHUNKS;
}

static void *take_from(struct chunk *chunk, uintptr_t start, size_t size, size_t align)
{
    uint64_t old = atomic_load_explicit(&chunk->state, memory_order_relaxed);

    for (;;) {
        uintptr_t at = xp_align_up(start + (old >> LIVE_BITS) + sizeof(struct header), align);
        uintptr_t end = at + size;
        if (end > start + chunk->size || (old & LIVE_MASK) == LIVE_MASK)
            return NULL;
        uint64_t now = (uint64_t)(end - start) << LIVE_BITS | ((old & LIVE_MASK) + 1);
        /* acquire: pairs with the release of the free that emptied the chunk. */
        if (!atomic_compare_exchange_weak_explicit(&chunk->state, &old, now, memory_order_acq_rel,
                                                   memory_order_relaxed))
            continue;
        struct header *header = (struct header *)at - 1;
        header->size = size;
        atomic_store_explicit(&header->magic, MAGIC_LIVE, memory_order_release);
        return (void *)at;
    }
}

void *xp_emergency_alloc(size_t size, size_t align)
{
    if (size > PTRDIFF_MAX / 2 || align > PTRDIFF_MAX / 4)
        return NULL;
    size = xp_align_up(size ? size : 1, 16);
    align = align < 16 ? 16 : align;

    uint32_t count = chunk_count();
    for (uint32_t i = 0; i < count; i++) {
        struct chunk *chunk = &emergency.chunks[i];
        uintptr_t start = atomic_load_explicit(&chunk->start, memory_order_acquire);
        void *block = start ? take_from(chunk, start, size, align) : NULL;
        if (block)
            return block;
    }

    size_t bytes = xp_align_up(size + align + sizeof(struct header), XP_OS_PAGE);
    /* Later ones are larger, so that the slots last for a process that lives on this. */
    size_t least = CHUNK_BYTES << (count / 16 < 5 ? count / 16 : 5);
    if (bytes < least)
        bytes = least;
    void *start;
    if (count == CHUNKS || !xp_limits_heap_allows(bytes) ||
        xp_os_map(bytes, PROT_READ | PROT_WRITE, &start) < 0)
        return NULL;
    uint32_t index = atomic_fetch_add_explicit(&emergency.count, 1, memory_order_acq_rel);
    if (index >= CHUNKS) {
        atomic_store_explicit(&emergency.count, CHUNKS, memory_order_relaxed);
        xp_os_unmap(start, bytes);
        return NULL;
    }
    struct chunk *chunk = &emergency.chunks[index];
    chunk->size = bytes;
    void *block = take_from(chunk, (uintptr_t)start, size, align);
    /* release: whoever sees the start sees the size. */
    atomic_store_explicit(&chunk->start, (uintptr_t)start, memory_order_release);
    return block;
}

static struct chunk *chunk_of(const void *p)
{
    uint32_t count = chunk_count();

    for (uint32_t i = 0; i < count; i++) {
        struct chunk *chunk = &emergency.chunks[i];
        uintptr_t start = atomic_load_explicit(&chunk->start, memory_order_acquire);
        if (start && (uintptr_t)p - start < chunk->size)
            return chunk;
    }
    return NULL;
}

bool xp_emergency_owns(const void *p)
{
    return chunk_of(p) != NULL;
}

bool xp_emergency_free(void *p)
{
    struct chunk *chunk = chunk_of(p);
    struct header *header = (struct header *)p - 1;
    uint64_t live = MAGIC_LIVE;

    if (!chunk || ((uintptr_t)p & 15) != 0 ||
        (uintptr_t)header < atomic_load_explicit(&chunk->start, memory_order_relaxed) ||
        !atomic_compare_exchange_strong_explicit(&header->magic, &live, MAGIC_FREE,
                                                 memory_order_acq_rel, memory_order_relaxed))
        return false;
    uint64_t old = atomic_load_explicit(&chunk->state, memory_order_relaxed), now;
    do {
        now = old - 1;
        if ((now & LIVE_MASK) == 0)
            now = 0;
        /* release: what was done with the block is over before it can be handed out again. */
    } while (!atomic_compare_exchange_weak_explicit(&chunk->state, &old, now, memory_order_acq_rel,
                                                    memory_order_relaxed));
    return true;
}

size_t xp_emergency_usable(const void *p)
{
    struct chunk *chunk = chunk_of(p);
    const struct header *header = (const struct header *)p - 1;

    if (!chunk || ((uintptr_t)p & 15) != 0 ||
        (uintptr_t)header < atomic_load_explicit(&chunk->start, memory_order_relaxed) ||
        atomic_load_explicit(&header->magic, memory_order_acquire) != MAGIC_LIVE)
        return 0;
    return header->size;
}
