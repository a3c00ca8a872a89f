/* SPDX-License-Identifier: MIT */
/* tree.c - every stack ever seen, as nodes of one call tree. */
#include "capture/tree.h"

#include <errno.h>

#include "base/bits.h"
#include "base/meta.h"
#include "base/panic.h"
#include "capture/history.h"

/* Two tables of one make: program counters (pc | module << 48) and nodes (parent << 32 | pc id).
 * Each gives a 64-bit word a dense id. Words lie in segments that double, so that ids never move
 * and memory grows with use; the way from a word to its id is a hash index of 16-slot buckets:
 *
 *   index 0: |bucket|bucket|...   full bucket? -> index 1 (eight times as large) -> index 2 ...
 *
 * A bucket fills from the left and nothing is ever removed. So the first empty slot on a word's
 * way proves that the word is nowhere further on, and it is where the word goes, by one CAS: two
 * threads with the same word meet in the same slot. A slot holds id | tag << 24; the tag spares
 * the look at the word for 255 of 256 strangers. Known words are looked for the other way round:
 * most of them are in the largest index. */
#define WORD_SEGMENTS  13
#define WORD_FIRST     4096u /* words of segment 0; segment k holds ids 2^(11+k) .. 2^(12+k) */
#define INDEX_SEGMENTS 5
#define INDEX_FIRST    256u /* buckets of index 0 */
#define INDEX_GROWTH   3u   /* each next one has 2^3 times as many */
#define BUCKET_SLOTS   16u
#define ID_BITS        24
#define ID_MASK        ((1u << ID_BITS) - 1)

#define NODES_DEFAULT ((size_t)8 << 20)
#define PCS_MAX       ((uint32_t)1 << 22)
#define PC_MASK       (((uint64_t)1 << 48) - 1)

struct table {
    uint32_t max;           /* ids stay below */
    _Atomic uint32_t count; /* next id */
    _Atomic(_Atomic uint64_t *) words[WORD_SEGMENTS];
    _Atomic(_Atomic uint32_t *) index[INDEX_SEGMENTS];
};

static struct {
    struct table pcs, nodes;
} tree;

/* Is the stored word the one that is looked for? */
typedef bool (*same_fn)(uint64_t stored, uint64_t wanted);

static bool same_word(uint64_t stored, uint64_t wanted)
{
    return stored == wanted;
}

/* A pc is known if its module is still loaded: an unloaded one's number may mean other code. */
static bool same_live_pc(uint64_t stored, uint64_t wanted)
{
    return (stored & PC_MASK) == wanted && xp_history_is_loaded((unsigned)(stored >> 48));
}

static unsigned word_segment(uint32_t id)
{
    return id < WORD_FIRST ? 0 : xp_log2_floor(id) - 11;
}

static uint32_t word_segment_start(unsigned segment)
{
    return segment == 0 ? 0 : WORD_FIRST << (segment - 1);
}

static size_t word_segment_size(unsigned segment)
{
    return (size_t)(segment == 0 ? WORD_FIRST : WORD_FIRST << (segment - 1)) * sizeof(uint64_t);
}

/* The segment behind *slot, mapped when it is not there yet; NULL without memory. The loser of a
 * race gives its mapping back. */
static void *segment_of(_Atomic(void *) *slot, size_t size)
{
    /* acquire: pairs with the release of the thread that published it; the pages are zero. */
    void *segment = atomic_load_explicit(slot, memory_order_acquire);
    if (XP_LIKELY(segment != NULL))
        return segment;

    void *mine = xp_meta_map(size);
    if (!mine)
        return NULL;
    if (atomic_compare_exchange_strong_explicit(slot, &segment, mine, memory_order_acq_rel,
                                                memory_order_acquire))
        return mine;
    xp_meta_unmap(mine, size);
    return segment;
}

static _Atomic uint64_t *word_at(struct table *table, uint32_t id, bool may_map)
{
    unsigned k = word_segment(id);
    _Atomic uint64_t *segment = atomic_load_explicit(&table->words[k], memory_order_acquire);

    if (XP_UNLIKELY(!segment)) {
        if (!may_map)
            return NULL;
        segment = segment_of((_Atomic(void *) *)&table->words[k], word_segment_size(k));
        if (!segment)
            return NULL;
    }
    return &segment[id - word_segment_start(k)];
}

/* The word behind an id out of the index. */
XP_ALWAYS_INLINE uint64_t word_of(struct table *table, uint32_t id)
{
    unsigned k = word_segment(id);
    _Atomic uint64_t *segment = atomic_load_explicit(&table->words[k], memory_order_acquire);
    return atomic_load_explicit(&segment[id - word_segment_start(k)], memory_order_relaxed);
}

/* 0 for an id that was never given out. */
static uint64_t word_get(struct table *table, uint32_t id)
{
    if (id >= atomic_load_explicit(&table->count, memory_order_acquire))
        return 0;
    _Atomic uint64_t *word = word_at(table, id, false);
    return word ? atomic_load_explicit(word, memory_order_relaxed) : 0;
}

/* A new id for word, or 0 when the table is full. */
static uint32_t append(struct table *table, uint64_t word)
{
    uint32_t id = atomic_load_explicit(&table->count, memory_order_relaxed);

    for (;;) {
        if (id >= table->max)
            return 0;
        _Atomic uint64_t *at = word_at(table, id, true);
        if (!at)
            return 0;
        if (atomic_compare_exchange_weak_explicit(&table->count, &id, id + 1, memory_order_acq_rel,
                                                  memory_order_relaxed)) {
            atomic_store_explicit(at, word, memory_order_relaxed);
            return id;
        }
    }
}

static size_t index_buckets(unsigned k)
{
    return (size_t)INDEX_FIRST << (INDEX_GROWTH * k);
}

static _Atomic uint32_t *bucket_of(_Atomic uint32_t *index, unsigned k, uint64_t hash)
{
    return index + (hash >> 34 & (index_buckets(k) - 1)) * BUCKET_SLOTS;
}

/* One multiplication: every lookup of a frame waits for that of the frame outside of it. Bits
 * 63..56 of the product are the tag, those from 34 on name the bucket. */
XP_ALWAYS_INLINE uint64_t hash_of(uint64_t word)
{
    return word * 0x9e3779b97f4a7c15u;
}

XP_ALWAYS_INLINE uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 56) << ID_BITS;
}

/* The id of a word that is there, or 0. */
XP_ALWAYS_INLINE uint32_t find(struct table *table, uint64_t hash, uint64_t word, same_fn same)
{
    uint32_t tag = tag_of(hash);

    for (unsigned k = INDEX_SEGMENTS; k-- > 0;) {
        _Atomic uint32_t *index = atomic_load_explicit(&table->index[k], memory_order_acquire);
        if (!index)
            continue;
        _Atomic uint32_t *bucket = bucket_of(index, k, hash);
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            /* acquire: pairs with the release CAS in add(); the word behind the id is whole. */
            uint32_t slot = atomic_load_explicit(&bucket[i], memory_order_acquire);
            if (slot == 0)
                break;
            if ((slot & ~ID_MASK) == tag && same(word_of(table, slot & ID_MASK), word))
                return slot & ID_MASK;
        }
    }
    return 0;
}

/* The id of the word, which is stored if it is not there; 0: the table is full. */
static XP_NOINLINE uint32_t add(struct table *table, uint64_t hash, uint64_t word)
{
    uint32_t tag = tag_of(hash), mine = 0;

    for (unsigned k = 0; k < INDEX_SEGMENTS; k++) {
        size_t size = index_buckets(k) * BUCKET_SLOTS * sizeof(uint32_t);
        _Atomic uint32_t *index = segment_of((_Atomic(void *) *)&table->index[k], size);
        if (!index)
            return 0;
        _Atomic uint32_t *bucket = bucket_of(index, k, hash);
        for (unsigned i = 0; i < BUCKET_SLOTS; i++) {
            uint32_t slot = atomic_load_explicit(&bucket[i], memory_order_acquire);
            if (slot == 0) {
                if (mine == 0)
                    mine = append(table, word);
                if (mine == 0)
                    return 0;
                if (atomic_compare_exchange_strong_explicit(
                        &bucket[i], &slot, mine | tag, memory_order_release, memory_order_acquire))
                    return mine;
                /* Somebody was faster. If it was the same word, our id stays unused. */
            }
            if ((slot & ~ID_MASK) == tag && word_of(table, slot & ID_MASK) == word)
                return slot & ID_MASK;
        }
    }
    return 0;
}

static uint32_t pc_id(uintptr_t pc)
{
    uint64_t number = pc & PC_MASK, hash = hash_of(number);
    uint32_t id =
        XP_LIKELY(!xp_history_is_closing()) ? find(&tree.pcs, hash, number, same_live_pc) : 0;

    if (XP_LIKELY(id != 0))
        return id;
    uint64_t module = xp_history_index_of(pc - 1);
    return add(&tree.pcs, hash, number | module << 48);
}

xp_node xp_tree_child(xp_node parent, uintptr_t pc, bool *ret_full)
{
    uint32_t id = pc_id(pc);

    if (id != 0) {
        uint64_t word = (uint64_t)parent << 32 | id;
        uint64_t hash = hash_of(word);
        xp_node node = find(&tree.nodes, hash, word, same_word);
        if (XP_UNLIKELY(node == 0))
            node = add(&tree.nodes, hash, word);
        if (XP_LIKELY(node != 0))
            return node;
    }
    *ret_full = true;
    return parent;
}

size_t xp_tree_pcs(xp_node node, uintptr_t *pcs, size_t max)
{
    size_t count = 0;

    while (node != XP_NODE_ROOT && count < max) {
        uint64_t word = word_get(&tree.nodes, node);
        uint64_t pc = word_get(&tree.pcs, (uint32_t)word);
        if (word == 0)
            break;
        pcs[count++] = xp_history_relocate((unsigned)(pc >> 48), (uintptr_t)(pc & PC_MASK));
        node = (xp_node)(word >> 32);
    }
    return count;
}

size_t xp_tree_nodes(void)
{
    return atomic_load_explicit(&tree.nodes.count, memory_order_acquire);
}

size_t xp_tree_pc_count(void)
{
    uint32_t count = atomic_load_explicit(&tree.pcs.count, memory_order_relaxed);
    return count ? count - 1 : 0;
}

size_t xp_tree_nodes_max(void)
{
    return tree.nodes.max;
}

/* Ids 0 (none) and 1 are there from the start, so that a reader of either needs no special case. */
static int table_init(struct table *table, size_t max, uint64_t first)
{
    table->max = (uint32_t)(max < ID_MASK ? max : ID_MASK);
    if (table->max < 2)
        table->max = 2;
    _Atomic uint64_t *word = word_at(table, 1, true);
    size_t size = index_buckets(0) * BUCKET_SLOTS * sizeof(uint32_t);
    if (!word || !segment_of((_Atomic(void *) *)&table->index[0], size))
        return -ENOMEM;
    atomic_store_explicit(word, first, memory_order_relaxed);
    atomic_store_explicit(&table->count, 2, memory_order_release);
    return 0;
}

int xp_tree_init(size_t nodes_max)
{
    int r = table_init(&tree.pcs, PCS_MAX, XP_NESTED_PC);

    if (r < 0)
        return r;
    return table_init(&tree.nodes, nodes_max ? nodes_max : NODES_DEFAULT, 1);
}
