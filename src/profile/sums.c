/* SPDX-License-Identifier: MIT */
/* sums.c - what was ever allocated, per call-tree node and size class.
 *
 * A shard is a list of entries that never move, in chunks that double, and an index of entry
 * numbers by hash. Readers go by the index without a lock. A full index is replaced by a larger
 * one; the old ones stay, since a reader may be in them: all together are smaller than the new one.
 *
 *   index -> | 0 | 7 | 0 | 2 | ... |      chunks[0] -> 128 entries
 *            entry number + 1, 0 empty    chunks[1] -> 256 entries ... */
#include "profile/sums.h"

#include "base/bits.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/meta.h"
#include "base/os.h"
#include "capture/tree.h"
#include "core/heap.h"

#define CHUNK0_LOG2 7
#define CHUNKS      16 /* 8 Mi entries in one shard: as many as the call tree has nodes */
#define NO_ENTRY    UINT32_MAX

struct entry {
    uint64_t key; /* node << 16 | class; written before anyone can find the entry */
    _Atomic double objects, bytes;
};

struct index {
    uint32_t mask;
    _Atomic uint32_t slots[];
};

struct shard {
    struct xp_lock lock;           /* guards the making of entries, chunks and indexes */
    _Atomic(struct index *) index; /* release/acquire: readers find it filled */
    _Atomic(struct entry *) chunks[CHUNKS];
    _Atomic uint32_t count; /* release/acquire: entries below it are whole */
} XP_CACHE_ALIGNED;

#define SHARD                                                                                      \
    {                                                                                              \
        .lock = XP_LOCK_INIT(XP_RANK_PROFILE)                                                      \
    }

static struct shard shards[XP_PROFILE_SHARDS] = {SHARD, SHARD, SHARD, SHARD, SHARD, SHARD,
                                                 SHARD, SHARD, SHARD, SHARD, SHARD, SHARD,
                                                 SHARD, SHARD, SHARD, SHARD};

/* Rows of [nested] for sums that found no memory; .key is not used. */
static struct entry spare[XP_ROW_CLASSES] XP_BULK;
static _Atomic uint64_t spared;

static struct entry *entry_at(struct shard *shard, uint32_t number)
{
    unsigned chunk = xp_log2_floor(((size_t)number >> CHUNK0_LOG2) + 1);
    size_t first = (((size_t)1 << chunk) - 1) << CHUNK0_LOG2;

    /* acquire: pairs with the release in chunk_for(). */
    struct entry *entries = atomic_load_explicit(&shard->chunks[chunk], memory_order_acquire);
    return entries + (number - first);
}

static void add_to(struct entry *entry, double objects, double bytes)
{
    /* Objects first; release: whoever sees the bytes sees the objects (xp_sums_each). */
    xp_double_add(&entry->objects, objects, memory_order_relaxed);
    xp_double_add(&entry->bytes, bytes, memory_order_release);
}

static struct entry *find(struct shard *shard, uint64_t key, uint64_t hash)
{
    const struct index *index = atomic_load_explicit(&shard->index, memory_order_acquire);

    if (!index)
        return NULL;
    for (uint32_t i = (uint32_t)hash & index->mask;; i = (i + 1) & index->mask) {
        /* acquire: pairs with the release in put_in_index(). */
        uint32_t slot = atomic_load_explicit(&index->slots[i], memory_order_acquire);
        if (slot == 0)
            return NULL;
        struct entry *entry = entry_at(shard, slot - 1);
        if (entry->key == key)
            return entry;
    }
}

static void put_in_index(struct index *index, uint64_t hash, uint32_t number)
{
    uint32_t i = (uint32_t)hash & index->mask;

    while (atomic_load_explicit(&index->slots[i], memory_order_relaxed) != 0)
        i = (i + 1) & index->mask;
    atomic_store_explicit(&index->slots[i], number + 1, memory_order_release);
}

/* An index with room for one more entry, three quarters full at most. */
static struct index *index_for_locked(struct shard *shard, uint32_t count)
{
    struct index *index = atomic_load_explicit(&shard->index, memory_order_relaxed);

    if (index && count < index->mask / 4 * 3)
        return index;
    uint32_t length = index ? (index->mask + 1) * 2 : 256;
    size_t size = sizeof(*index) + length * sizeof(index->slots[0]);
    struct index *larger = size < XP_OS_PAGE ? xp_meta_alloc(size, 64) : xp_meta_map(size);
    if (!larger) {
        /* Longer probes are better than none. */
        return index && count < index->mask - index->mask / 16 ? index : NULL;
    }
    larger->mask = length - 1;
    for (uint32_t number = 0; number < count; number++)
        put_in_index(larger, xp_hash_word(entry_at(shard, number)->key), number);
    atomic_store_explicit(&shard->index, larger, memory_order_release);
    return larger;
}

static bool chunk_for_locked(struct shard *shard, uint32_t number)
{
    unsigned chunk = xp_log2_floor(((size_t)number >> CHUNK0_LOG2) + 1);

    if (chunk >= CHUNKS)
        return false;
    if (atomic_load_explicit(&shard->chunks[chunk], memory_order_relaxed))
        return true;
    size_t size = sizeof(struct entry) << (CHUNK0_LOG2 + chunk);
    struct entry *entries = chunk == 0 ? xp_meta_alloc(size, 64) : xp_meta_map(size);
    if (!entries)
        return false;
    atomic_store_explicit(&shard->chunks[chunk], entries, memory_order_release);
    return true;
}

static struct entry *make_locked(struct shard *shard, uint64_t key, uint64_t hash)
{
    struct entry *entry = find(shard, key, hash);

    if (entry)
        return entry;
    uint32_t number = atomic_load_explicit(&shard->count, memory_order_relaxed);
    struct index *index = index_for_locked(shard, number);
    if (!index || !chunk_for_locked(shard, number))
        return NULL;
    entry = entry_at(shard, number);
    entry->key = key;
    atomic_store_explicit(&shard->count, number + 1, memory_order_release);
    put_in_index(index, hash, number);
    return entry;
}

static XP_COLD struct entry *make_slow(struct shard *shard, uint64_t key, uint64_t hash)
{
    uint64_t signals;

    /* No handler of this thread can come in between and wait for us, or leave by siglongjmp. */
    xp_lock_take_masked(&shard->lock, &signals);
    struct entry *entry = make_locked(shard, key, hash);
    xp_lock_give_restore(&shard->lock, &signals);
    return entry;
}

void xp_sums_add(uint32_t node, unsigned row_class, double objects, double bytes)
{
    struct shard *shard = &shards[xp_profile_shard()];
    uint64_t key = (uint64_t)node << 16 | row_class, hash = xp_hash_word(key);
    struct entry *entry = find(shard, key, hash);

    if (XP_UNLIKELY(!entry)) {
        entry = make_slow(shard, key, hash);
        if (!entry) {
            entry = &spare[row_class % XP_ROW_CLASSES];
            atomic_fetch_add_explicit(&spared, 1, memory_order_relaxed);
        }
    }
    add_to(entry, objects, bytes);
}

size_t xp_sums_count(void)
{
    size_t count = 0;

    for (unsigned i = 0; i < XP_PROFILE_SHARDS; i++)
        count += atomic_load_explicit(&shards[i].count, memory_order_relaxed);
    return count;
}

/* Bytes before objects: see add_to(). */
static struct entry read_entry(const struct entry *entry)
{
    struct entry copy = {.key = entry->key};

    copy.bytes = atomic_load_explicit(&entry->bytes, memory_order_acquire);
    copy.objects = atomic_load_explicit(&entry->objects, memory_order_relaxed);
    return copy;
}

void xp_sums_each(bool (*fn)(uint32_t node, unsigned row_class, double objects, double bytes,
                             void *arg),
                  void *arg)
{
    for (unsigned i = 0; i < XP_PROFILE_SHARDS; i++) {
        uint32_t count = atomic_load_explicit(&shards[i].count, memory_order_acquire);
        for (uint32_t number = 0; number < count; number++) {
            struct entry e = read_entry(entry_at(&shards[i], number));
            if (!fn((uint32_t)(e.key >> 16), e.key & 0xffff, e.objects, e.bytes, arg))
                return;
        }
    }
    for (unsigned row_class = 0; row_class < XP_ROW_CLASSES; row_class++) {
        struct entry e = read_entry(&spare[row_class]);
        if (e.objects > 0 && !fn(XP_NODE_NESTED, row_class, e.objects, e.bytes, arg))
            return;
    }
}

uint64_t xp_sums_spared(void)
{
    return atomic_load_explicit(&spared, memory_order_relaxed);
}

void xp_sums_fork_child(void)
{
    /* An entry, chunk or index that was half made was not published yet. */
    for (unsigned i = 0; i < XP_PROFILE_SHARDS; i++)
        xp_lock_reset(&shards[i].lock);
}
