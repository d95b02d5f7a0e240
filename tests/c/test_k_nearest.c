/* Does a search select the k nearest? Against sorting everything, with good guesses and bad ones. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "math/k_nearest.h"
#include "ranked.h"
#include "rng.h"

static int by_index(const void *left, const void *right) {
    const ranked *a = left, *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* The expected result of drv_k_nearest, by sorting everything. */
static int32_t nearest_by_sorting(const float *values, int32_t count, int32_t wanted, float high, ranked *sorted) {
    int32_t near = 0;
    for (int32_t i = 0; i < count; i++)
        if (values[i] <= high) sorted[near++] = (ranked){values[i], i};
    qsort(sorted, (size_t)near, sizeof *sorted, by_value_then_index);
    if (near > wanted) near = wanted;
    qsort(sorted, (size_t)near, sizeof *sorted, by_index);
    return near;
}

/* The padding that the contract requires after the last distance and the last index kept. */
enum { PADDING = DRV_SIMD_PAD };

/* Block numbers need neither start at 0 nor be consecutive. */
static int32_t label_of(int32_t index) { return 1000 + index + index / DRV_WIDTH * 5; }

/* Buffers have exactly the promised size, so that the sanitizer detects a write beyond them. */
static void check_nearest(const float *values, int32_t count, int32_t wanted, drv_bounds bounds) {
    const int32_t blocks = (count + DRV_WIDTH - 1) / DRV_WIDTH;
    const size_t items = (size_t)(blocks * DRV_WIDTH + PADDING);
    const size_t slots = (size_t)(wanted > 0 ? wanted : 0) + PADDING;
    float *copy = malloc(items * sizeof *copy), *buffer = malloc(items * sizeof *buffer);
    int32_t *first = malloc((size_t)(blocks + 1) * sizeof *first), *kept = malloc(slots * sizeof *kept);
    ranked *sorted = malloc(items * sizeof *sorted);
    for (int32_t i = 0; i < blocks * DRV_WIDTH; i++) copy[i] = i < count ? values[i] : INFINITY;
    for (int32_t block = 0; block < blocks; block++) first[block] = label_of(block * DRV_WIDTH);
    const int32_t found = drv_k_nearest((drv_candidates){copy, first, blocks}, wanted, bounds, buffer, kept);
    const int32_t expected = nearest_by_sorting(values, count, wanted > 0 ? wanted : 0, bounds.high, sorted);
    CHECK(found == expected, "%d kept, %d wanted, of %d within %g (guesses %g, %g): kept %d", found, wanted, count,
          (double)bounds.high, (double)bounds.low_guess, (double)bounds.high_guess, expected);
    for (int32_t i = 0; i < found && i < expected; i++)
        CHECK(kept[i] == label_of(sorted[i].index),
              "entry %d is %d, not %d; %d wanted of %d within %g (guesses %g, %g)", i, kept[i],
              label_of(sorted[i].index), wanted, count, (double)bounds.high, (double)bounds.low_guess,
              (double)bounds.high_guess);
    free(copy);
    free(buffer);
    free(first);
    free(kept);
    free(sorted);
}

typedef enum spread { EVEN, FEW_VALUES, ALL_EQUAL, FAR_OUTLIERS, SOME_INFINITE, SKEWED, SPREADS } spread;

static float drawn(test_rng *rng, spread how) {
    switch (how) {
    case EVEN: return (float)rng_between(rng, 0.0, 1e4);
    case FEW_VALUES: return (float)rng_below(rng, 5);
    case ALL_EQUAL: return 42.0f;
    case FAR_OUTLIERS: return rng_below(rng, 10) ? (float)rng_between(rng, 0.0, 1.0) : 1e30f;
    case SOME_INFINITE: return rng_below(rng, 3) ? (float)rng_between(rng, 0.0, 1e4) : INFINITY;
    default: return (float)pow(10.0, rng_between(rng, -30.0, 30.0));
    }
}

TEST(the_nearest_are_what_sorting_finds) {
    test_rng rng = {31};
    float values[600];
    const int32_t cases = check_cases(30000);
    for (int32_t i = 0; i < cases; i++) {
        /* random values */
        const spread how = (spread)rng_below(&rng, SPREADS);
        const int32_t count = i % 7 ? rng_below(&rng, 200) : rng_below(&rng, 600);
        for (int32_t k = 0; k < count; k++) values[k] = drawn(&rng, how);
        /* any number of them, a limit, and guesses that are good or bad */
        const int32_t wanted = rng_below(&rng, 4) ? rng_below(&rng, count + 5) : rng_below(&rng, 8);
        const float highs[] = {3e38f, 1e4f, 42.0f, count ? values[rng_below(&rng, count)] : 0.0f, -1.0f, 0.0f};
        float high = highs[rng_below(&rng, 6)];
        if (isinf(high)) high = 1e4f;
        const float hints[] = {-1.0f, 0.0f, high, INFINITY, count ? values[rng_below(&rng, count)] : 0.0f,
                              (float)rng_between(&rng, 0.0, 1e4), 1e-30f};
        const float one = hints[rng_below(&rng, 7)], other = hints[rng_below(&rng, 7)];
        check_nearest(values, count, wanted, (drv_bounds){fminf(one, other), fmaxf(one, other), high});
        if (rng_below(&rng, 2) || count == 0) continue;
        /* Typical guesses: close to the threshold. */
        ranked sorted[600];
        nearest_by_sorting(values, count, count, INFINITY, sorted);
        qsort(sorted, (size_t)count, sizeof *sorted, by_value_then_index);
        const float threshold = sorted[wanted < count ? wanted : count - 1].value;
        const float share = (float)rng_between(&rng, 0.0, 0.3);
        if (!isinf(threshold))
            check_nearest(values, count, wanted,
                          (drv_bounds){threshold * (1.0f - share), threshold * (1.0f + share), high});
    }
}

TEST(ties_go_to_the_lower_index) {
    float values[100];
    for (int32_t i = 0; i < 100; i++) values[i] = 7.0f;
    const drv_bounds bounds[] = {{-1.0f, -1.0f, 7.0f}, {7.0f, 7.0f, 7.0f}, {6.0f, 8.0f, 100.0f}, {8.0f, 9.0f, 100.0f}};
    for (int32_t wanted = 0; wanted <= 101; wanted++)
        for (int32_t i = 0; i < 4; i++) check_nearest(values, 100, wanted, bounds[i]);
    values[99] = 6.0f;
    for (int32_t wanted = 0; wanted <= 101; wanted++)
        for (int32_t i = 0; i < 4; i++) check_nearest(values, 100, wanted, bounds[i]);
}

TEST(fewer_than_wanted_are_all_selected_and_none_beyond_the_limit) {
    const float values[] = {4.0f, 1.0f, INFINITY, 9.0f, 1.0f};
    check_nearest(values, 5, 10, (drv_bounds){.high = 4.0f});
    check_nearest(values, 5, 10, (drv_bounds){.high = 0.5f});
    check_nearest(values, 0, 10, (drv_bounds){.high = 4.0f});
    check_nearest(values, 5, 0, (drv_bounds){.high = 4.0f});
    check_nearest(values, 5, -3, (drv_bounds){.high = 4.0f});
    check_nearest(values, 5, 1, (drv_bounds){.high = 3e38f});
}

TEST(all_within_a_limit_are_selected) {
    float values[2 * DRV_WIDTH + DRV_SIMD_PAD];
    int32_t kept[2 * DRV_WIDTH + DRV_SIMD_PAD], first[] = {3, 40};
    for (int32_t i = 0; i < 2 * DRV_WIDTH; i++) values[i] = (float)(i % 3);
    const int32_t found = drv_all_within((drv_candidates){values, first, 2}, 1.0f, kept);
    int32_t expected = 0;
    for (int32_t i = 0; i < 2 * DRV_WIDTH; i++)
        if (values[i] <= 1.0f) {
            CHECK(kept[expected] == first[i / DRV_WIDTH] + i % DRV_WIDTH, "entry %d is %d", expected, kept[expected]);
            expected++;
        }
    CHECK(found == expected, "%d, not %d", found, expected);
}
