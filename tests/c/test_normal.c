/* Are the normal numbers normal, and the logarithm that of the C library? */
#include "math/normal.h"

#include <stdlib.h>

#include "check.h"
#include "math/random.h"

TEST(the_logarithm_is_that_of_the_c_library) {
    for (int32_t i = 1; i < 200000; i++) {
        const float value = (float)i * (i % 3 == 0 ? 0x1p-32f : i % 3 == 1 ? 1e-4f : 3e5f);
        const double found = (double)drv_logarithm(value), expected = log((double)value);
        CHECK(fabs(found - expected) <= 1e-7 + 2e-7 * fabs(expected), "of %g: %.9g, not %.9g", (double)value, found,
              expected);
    }
    CHECK(drv_logarithm(1.0f) == 0.0f, "of 1: %g", (double)drv_logarithm(1.0f));
}

TEST(the_extreme_bits_have_finite_numbers) {
    const drv_point none = drv_normal_pair(0), all = drv_normal_pair(UINT64_MAX);
    /* the radius of 2^-32, the smallest share: sqrt(-2 log(2^-32)) */
    CHECK(fabs(hypot((double)none.x, (double)none.y) - sqrt(64.0 * log(2.0))) < 1e-4, "%g, %g", (double)none.x,
          (double)none.y);
    CHECK(all.x == 0.0f && all.y == 0.0f, "%g, %g", (double)all.x, (double)all.y);
}

static int ascending(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

TEST(the_numbers_have_the_normal_distribution_and_are_independent) {
    enum { PAIRS = 100000, COUNT = 2 * PAIRS };
    float *number = malloc(COUNT * sizeof *number);
    double products = 0.0;
    for (uint32_t i = 0; i < PAIRS; i++) {
        const drv_point pair = drv_normal_pair(drv_random_draw(7, i));
        number[2 * i] = pair.x;
        number[2 * i + 1] = pair.y;
        products += (double)pair.x * (double)pair.y;
    }
    CHECK(fabs(products) < 4.0 * sqrt((double)PAIRS), "the sum of products of pairs is %g", products);
    qsort(number, COUNT, sizeof *number, ascending);
    double farthest = 0.0;
    for (int32_t i = 0; i < COUNT; i++) {
        const double expected = 0.5 * erfc(-(double)number[i] / sqrt(2.0));
        farthest = fmax(farthest, fabs((i + 0.5) / COUNT - expected));
    }
    /* Once in 1,000 samples the distribution functions differ by more than 1.95 / sqrt(n) (Kolmogorov). */
    CHECK(farthest < 1.95 / sqrt(COUNT), "the distribution functions differ by %g", farthest);
    free(number);
}
