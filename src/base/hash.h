/* SPDX-License-Identifier: MIT */
/* hash.h - one hash for words and bytes.
 *
 * Layer base; uses compiler.h. Not for hostile keys: nothing here resists a chosen collision. */
#ifndef XP_BASE_HASH_H
#define XP_BASE_HASH_H

#include "base/compiler.h"

/* Finaliser of splitmix64 (Steele, Lea, Flood 2014): invertible, every input bit moves every
 * output bit. */
XP_ALWAYS_INLINE uint64_t xp_hash_word(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    x ^= x >> 31;
    return x;
}

/* Continue hash h with the word x. */
XP_ALWAYS_INLINE uint64_t xp_hash_add(uint64_t h, uint64_t x)
{
    return xp_hash_word(h ^ (x + 0x9e3779b97f4a7c15ull));
}

/* FNV-1a, 64 bits, finished by xp_hash_word. */
XP_ALWAYS_INLINE uint64_t xp_hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    uint64_t h = 0xcbf29ce484222325ull;

    for (size_t i = 0; i < size; i++)
        h = (h ^ b[i]) * 0x100000001b3ull;
    return xp_hash_word(h);
}

#endif
