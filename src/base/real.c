/* SPDX-License-Identifier: MIT */
/* real.c - the two real functions that sampling needs, without libm. */
#include "base/real.h"

#include "base/compiler.h"

#define LN2_HIGH 6.93147180369123816490e-01
#define LN2_LOW  1.90821492927058770002e-10

/* x = m * 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh(z), z = (m-1)/(m+1), |z| < 0.1716,
 * so the series' term z^(2k+1)/(2k+1) falls by 34 each step: 10 terms reach 1e-16. */
double xp_log(double x)
{
    union {
        double d;
        uint64_t u;
    } v = {.d = x};
    int e = (int)(v.u >> 52) - 1023;

    v.u = (v.u & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
    if (v.d > 1.4142135623730951) {
        v.d *= 0.5;
        e++;
    }

    double z = (v.d - 1) / (v.d + 1), z2 = z * z, sum = 0;
    for (int k = 21; k >= 3; k -= 2)
        sum = (sum + 1.0 / k) * z2;
    return e * LN2_HIGH + (2 * z + (2 * z * sum + e * LN2_LOW));
}

/* exp(-x) for x >= 0 by halving the argument into [0, 1/2) and squaring back. */
static double exp_negative(double x)
{
    if (x > 745)
        return 0;
    int halvings = 0;
    while (x > 0.5) {
        x *= 0.5;
        halvings++;
    }
    double sum = 1;
    for (int k = 16; k >= 1; k--)
        sum = 1 - x * sum / k;
    while (halvings-- > 0)
        sum *= sum;
    return sum;
}

double xp_hit_probability(double x)
{
    if (x > 0.5)
        return 1 - exp_negative(x);
    /* x - x^2/2! + x^3/3! - ...: no cancellation against 1. */
    double sum = 1;
    for (int k = 16; k >= 2; k--)
        sum = 1 - x * sum / k;
    return x * sum;
}
