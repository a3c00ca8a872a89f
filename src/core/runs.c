/* SPDX-License-Identifier: MIT */
/* runs.c - runs of bits in the bitmaps of a segment. */
#include "core/runs.h"

#include "base/bits.h"
#include "core/arena.h"

/* The bits of one word that belong to [first, first + count). */
static uint64_t word_mask(uint32_t word, uint32_t first, uint32_t count)
{
    uint32_t from = word * 64, to = from + 64;
    uint32_t a = first > from ? first : from;
    uint32_t b = first + count < to ? first + count : to;

    if (a >= b)
        return 0;
    uint64_t mask = b - a == 64 ? ~0ull : (1ull << (b - a)) - 1;
    return mask << (a - from);
}

void xp_run_set(uint64_t *words, uint32_t first, uint32_t count)
{
    for (uint32_t i = first / 64; i * 64 < first + count; i++)
        words[i] |= word_mask(i, first, count);
}

void xp_run_clear(uint64_t *words, uint32_t first, uint32_t count)
{
    for (uint32_t i = first / 64; i * 64 < first + count; i++)
        words[i] &= ~word_mask(i, first, count);
}

uint32_t xp_run_count(const uint64_t *words, uint32_t first, uint32_t count)
{
    uint32_t bits = 0;

    for (uint32_t i = first / 64; i * 64 < first + count; i++)
        bits += (uint32_t)__builtin_popcountll(words[i] & word_mask(i, first, count));
    return bits;
}

static uint32_t next_bit(const uint64_t *words, uint32_t from, uint64_t flip)
{
    for (uint32_t i = from / 64; i < XP_SEGMENT_SLICES / 64; i++) {
        uint64_t word = words[i] ^ flip;
        if (i == from / 64)
            word &= ~0ull << (from % 64);
        if (word)
            return i * 64 + (uint32_t)__builtin_ctzll(word);
    }
    return XP_SEGMENT_SLICES;
}

uint32_t xp_run_next_set(const uint64_t *words, uint32_t from)
{
    return next_bit(words, from, 0);
}

uint32_t xp_run_next_clear(const uint64_t *words, uint32_t from)
{
    return next_bit(words, from, ~0ull);
}

bool xp_run_find(const uint64_t *words, uint32_t count, size_t at, size_t align,
                 uint32_t *ret_first, uint32_t *ret_longest)
{
    uint32_t longest = 0;

    for (uint32_t from = 0; from < XP_SEGMENT_SLICES;) {
        uint32_t begin = xp_run_next_set(words, from);
        if (begin == XP_SEGMENT_SLICES)
            break;
        uint32_t end = xp_run_next_clear(words, begin);
        size_t first = xp_align_up(at + begin, align) - at;
        if (first + count <= end) {
            *ret_first = (uint32_t)first;
            return true;
        }
        if (end - begin > longest)
            longest = end - begin;
        from = end;
    }
    *ret_longest = longest;
    return false;
}
