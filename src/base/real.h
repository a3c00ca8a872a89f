/* SPDX-License-Identifier: MIT */
/* real.h - the two real functions that sampling needs, without libm.
 *
 * Layer base. Pure, signal safe, no errno. */
#ifndef XP_BASE_REAL_H
#define XP_BASE_REAL_H

/* Natural logarithm of x, 0 < x < infinity, normal numbers only; relative error < 1e-14. */
double xp_log(double x);

/* 1 - exp(-x) for x >= 0: the chance that a Poisson process hits a stretch of length x.
 * Relative error < 1e-14, also for tiny x. */
double xp_hit_probability(double x);

#endif
