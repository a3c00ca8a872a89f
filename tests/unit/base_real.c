/* SPDX-License-Identifier: MIT */
#include "base/real.h"

#include <math.h>

#include "test.h"

TEST(log_agrees_with_libm_over_the_whole_range)
{
    for (double x = 1e-300; x < 1e300; x *= 1.37) {
        double want = log(x), got = xp_log(x);
        CHECK_NEAR(got, want, 1e-14 * (want < 0 ? -want : want) + 1e-16);
    }
    CHECK(xp_log(1.0) == 0.0);
}

TEST(hit_probability_agrees_with_expm1)
{
    for (double x = 1e-18; x < 800; x *= 1.13) {
        double want = -expm1(-x);
        CHECK_NEAR(xp_hit_probability(x), want, 2e-14 * want);
    }
    CHECK(xp_hit_probability(0) == 0);
    CHECK(xp_hit_probability(1e6) == 1);
}
