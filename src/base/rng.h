/* SPDX-License-Identifier: MIT */
/* rng.h - random numbers for sampling: fast, seedable, one state per user.
 *
 * Layer base; uses real.h. Not for secrets. A state belongs to one thread at a time. */
#ifndef XP_BASE_RNG_H
#define XP_BASE_RNG_H

#include "base/compiler.h"

struct xp_rng {
    uint64_t state; /* splitmix64: any value is a good seed */
};

void xp_rng_seed(struct xp_rng *rng, uint64_t seed);

/* Uniform over all 64-bit words. */
uint64_t xp_rng_next(struct xp_rng *rng);

/* Uniform in (0, 1], 53 bits; never 0. */
double xp_rng_uniform(struct xp_rng *rng);

/* Exponential with the given mean, mean > 0. */
double xp_rng_exponential(struct xp_rng *rng, double mean);

/* The seed the process starts from: options may fix it (XPROF_SEED); else from the kernel.
 * Each call with the same base gives another stream. */
uint64_t xp_rng_stream(uint64_t base, uint64_t stream);

#endif
