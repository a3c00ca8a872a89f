/* SPDX-License-Identifier: MIT */
/* rng.c - random numbers for sampling: fast, seedable, one state per user. */
#include "base/rng.h"

#include "base/hash.h"
#include "base/real.h"

void xp_rng_seed(struct xp_rng *rng, uint64_t seed)
{
    rng->state = seed;
}

/* splitmix64 (Steele, Lea, Flood 2014): a Weyl sequence through a finaliser. */
uint64_t xp_rng_next(struct xp_rng *rng)
{
    rng->state += 0x9e3779b97f4a7c15ull;
    return xp_hash_word(rng->state);
}

double xp_rng_uniform(struct xp_rng *rng)
{
    return (double)((xp_rng_next(rng) >> 11) + 1) * 0x1p-53;
}

double xp_rng_exponential(struct xp_rng *rng, double mean)
{
    return -mean * xp_log(xp_rng_uniform(rng));
}

uint64_t xp_rng_stream(uint64_t base, uint64_t stream)
{
    return xp_hash_add(xp_hash_word(base ^ 0x5851f42d4c957f2dull), stream);
}
