/* SPDX-License-Identifier: MIT */
#include "base/rng.h"

#include "test.h"

TEST(uniform_is_never_zero_and_at_most_one_with_mean_one_half)
{
    struct xp_rng rng;
    double sum = 0;

    xp_rng_seed(&rng, 101);
    for (int i = 0; i < 1000003; i++) {
        double u = xp_rng_uniform(&rng);
        CHECK(u > 0 && u <= 1);
        sum += u;
    }
    CHECK_NEAR(sum / 1000003, 0.5, 4.5 * 0.2887 / 1000);
}

TEST(exponential_has_the_mean_and_variance_of_its_law)
{
    struct xp_rng rng;
    double sum = 0, squares = 0;
    const int n = 1000003;

    xp_rng_seed(&rng, 7);
    for (int i = 0; i < n; i++) {
        double x = xp_rng_exponential(&rng, 524288);
        sum += x;
        squares += x * x;
    }
    double mean = sum / n, variance = squares / n - mean * mean;
    CHECK_NEAR(mean, 524288, 4.5 * 524288 / 1000);
    CHECK_NEAR(variance / (524288.0 * 524288.0), 1, 4.5 * 2.83 / 1000);
}

TEST(streams_of_one_seed_differ_and_repeat)
{
    CHECK(xp_rng_stream(3, 1) != xp_rng_stream(3, 2));
    CHECK(xp_rng_stream(3, 1) != xp_rng_stream(4, 1));
    CHECK(xp_rng_stream(3, 1) == xp_rng_stream(3, 1));
}
