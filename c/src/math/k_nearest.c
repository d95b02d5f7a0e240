/* Which of many candidates are the k nearest? */
#include "math/k_nearest.h"

#include <math.h>
#include <stdbool.h>

/* Limit on the rounds of narrowing. What is in the bracket after the last one is ranked by drv_select_rank, which
 * handles any number of values. */
enum { round_limit = 20 };

/* Up to this many values are ranked by comparing all pairs. */
enum { pairwise_limit = 16 };

_Static_assert(pairwise_limit % DRV_WIDTH == 0 && (int)pairwise_limit <= (int)DRV_SIMD_PAD,
               "the values of an exhaustive ranking fill whole blocks, inside the padding of an array");

/* An interval (low, high] that holds the threshold, the `wanted`-th smallest value: count_low values are <= low, fewer
 * than wanted, and count_high values are <= high, at least as many as wanted where there are so many. */
typedef struct bracket {
    float low, high;
    int32_t count_low, count_high;
} bracket;

float drv_select_rank(float *values, int32_t count, int32_t rank) {
    int32_t low = 0, high = count - 1;
    while (low < high) { /* Hoare's selection */
        float pivot = values[low + (high - low) / 2];
        int32_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i <= j) {
                float swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        }
        if (rank <= j) high = j;
        else if (rank >= i) low = i;
        else break;
    }
    return values[rank];
}

/* Returns how many of values[0 .. count) are <= limit. The padding up to the next multiple of DRV_SIMD_PAD is above
 * it. */
static int32_t count_le(const float *values, int32_t count, float limit) {
    const drv_floats limits = drv_splat(limit);
    drv_ints one = {0}, other = {0}; /* two accumulators hide the latency of the additions */
    for (int32_t i = 0; i < count; i += 2 * DRV_WIDTH) {
        one -= drv_mask_le(drv_load(values + i), limits);
        other -= drv_mask_le(drv_load(values + i + DRV_WIDTH), limits);
    }
    return drv_sum(one + other);
}

/* The same for two limits in one pass. */
static void count_le_both(const float *values, int32_t count, float low, float high, int32_t *at_low,
                          int32_t *at_high) {
    const drv_floats lower = drv_splat(low), higher = drv_splat(high);
    drv_ints low_counts = {0}, high_counts = {0};
    for (int32_t i = 0; i < count; i += DRV_WIDTH) {
        const drv_floats block_values = drv_load(values + i);
        low_counts -= drv_mask_le(block_values, lower);
        high_counts -= drv_mask_le(block_values, higher);
    }
    *at_low = drv_sum(low_counts);
    *at_high = drv_sum(high_counts);
}

/* Narrows the bracket until at most pairwise_limit values are left in it, no float is between its ends, or the rounds
 * are used up. */
static bracket narrow(const float *values, int32_t count, int32_t wanted, bracket range) {
    for (int32_t round = 0; round < round_limit; round++) {
        if (range.count_high <= wanted || range.count_high - range.count_low <= pairwise_limit) break;
        /* Interpolates: segments are spread evenly over an area, so their number grows nearly linearly with the squared
         * distance. Every fourth round bisects, which bounds the rounds for other distributions. */
        const int32_t between = range.count_high - range.count_low, rank = wanted - range.count_low;
        const float share = (round & 3) == 3 || rank >= between ? 0.5f : (float)rank / (float)between;
        float middle = range.low + share * (range.high - range.low);
        if (!(middle > range.low && middle < range.high)) {
            middle = range.low + 0.5f * (range.high - range.low);
            if (!(middle > range.low && middle < range.high)) break;
        }
        const int32_t at_most = count_le(values, count, middle);
        if (at_most >= wanted) range.high = middle, range.count_high = at_most;
        else range.low = middle, range.count_low = at_most;
    }
    return range;
}

int32_t drv_all_within(drv_candidates candidates, float high, int32_t *kept) {
    int32_t found = 0;
    for (int32_t block = 0; block < candidates.blocks; block++) {
        const drv_floats values = drv_load(candidates.distance2 + block * DRV_WIDTH);
        found += drv_compress_store(kept + found, drv_iota(candidates.first[block]), drv_movemask_le(values, high));
    }
    return found;
}

/* Writes the values in (low, high] of a bracket to `buffer`; returns their number. */
static int32_t gather_between(drv_candidates candidates, bracket range, float *buffer) {
    int32_t found = 0;
    for (int32_t block = 0; block < candidates.blocks; block++) {
        const drv_floats values = drv_load(candidates.distance2 + block * DRV_WIDTH);
        const uint32_t bits = drv_movemask_le(values, range.high) & ~drv_movemask_le(values, range.low);
        found += drv_compress_store(buffer + found, (drv_ints)values, bits);
    }
    return found;
}

/* Returns the `rank`-th smallest (from 1) of at most pairwise_limit values: the smallest one with at least `rank`
 * values <= it. Pads `values` to pairwise_limit. */
static float select_pairwise(float *values, int32_t count, int32_t rank) {
    for (int32_t i = count; i < pairwise_limit; i++) values[i] = INFINITY;
    drv_floats least = drv_splat(INFINITY);
    for (int32_t i = 0; i < pairwise_limit; i += DRV_WIDTH) {
        const drv_floats block_values = drv_load(values + i);
        drv_ints missing = (drv_ints){0} + rank; /* rank minus the number of values <= each */
        for (int32_t k = 0; k < pairwise_limit; k++) missing += drv_mask_le(drv_splat(values[k]), block_values);
        const drv_ints less = (missing <= 0) & (drv_ints)(block_values < least);
        least = (drv_floats)((less & (drv_ints)block_values) | (~less & (drv_ints)least));
    }
    float found = INFINITY;
    for (int32_t k = 0; k < DRV_WIDTH; k++) found = least[k] < found ? least[k] : found;
    return found;
}

/* Writes the indices of all candidates below `limit` and of the first `ties` that equal it. */
static int32_t keep_below(drv_candidates candidates, float limit, int32_t ties, int32_t *kept) {
    int32_t found = 0;
    for (int32_t i = 0; i < candidates.blocks * DRV_WIDTH; i++) {
        const float value = candidates.distance2[i];
        const bool tie = value == limit;
        kept[found] = candidates.first[i / DRV_WIDTH] + i % DRV_WIDTH;
        found += value < limit || (tie && ties > 0);
        ties -= tie;
    }
    return found;
}

/* Which candidates are selected: those below `limit`, and the first `ties` of those that equal it. */
typedef struct cut {
    float limit;
    int32_t ties;
} cut;

enum { all_ties = INT32_MAX };

/* Brackets the squared distance of the k-th nearest, by the guesses where they hold. */
static bracket first_bracket(const float *values, int32_t count, int32_t wanted, drv_bounds bounds) {
    bracket range = {-1.0f, bounds.high, 0, 0};
    if (bounds.low_guess > 0.0f && bounds.high_guess < bounds.high) {
        int32_t at_low, at_high;
        count_le_both(values, count, bounds.low_guess, bounds.high_guess, &at_low, &at_high);
        if (at_high >= wanted) range.high = bounds.high_guess, range.count_high = at_high;
        else range.low = bounds.high_guess, range.count_low = at_high;
        if (at_low >= wanted) range.high = bounds.low_guess, range.count_high = at_low;
        else if (at_high >= wanted) range.low = bounds.low_guess, range.count_low = at_low;
    }
    if (range.count_high == 0) range.count_high = count_le(values, count, bounds.high);
    return range;
}

/* Ranks the values inside a bracket. */
static cut cut_inside(drv_candidates candidates, bracket range, int32_t wanted, float *buffer) {
    const int32_t between = gather_between(candidates, range, buffer), rank = wanted - range.count_low;
    const float threshold =
        between <= pairwise_limit ? select_pairwise(buffer, between, rank) : drv_select_rank(buffer, between, rank - 1);
    int32_t smaller = 0, equal = 0;
    for (int32_t i = 0; i < between; i++) {
        smaller += buffer[i] < threshold;
        equal += buffer[i] == threshold;
    }
    return (cut){threshold, smaller + equal == rank ? all_ties : rank - smaller};
}

static cut cut_of(drv_candidates candidates, int32_t wanted, drv_bounds bounds, float *buffer) {
    float *values = candidates.distance2;
    const int32_t count = candidates.blocks * DRV_WIDTH;
    if (count <= wanted) return (cut){bounds.high, all_ties};
    for (int32_t i = 0; i < DRV_SIMD_PAD; i++) values[count + i] = INFINITY;
    const bracket range = narrow(values, count, wanted, first_bracket(values, count, wanted, bounds));
    if (range.count_high <= wanted) return (cut){range.high, all_ties};
    return cut_inside(candidates, range, wanted, buffer);
}

int32_t drv_k_nearest(drv_candidates candidates, int32_t wanted, drv_bounds bounds, float *buffer, int32_t *kept) {
    if (wanted <= 0) return 0;
    const cut found = cut_of(candidates, wanted, bounds, buffer);
    return found.ties == all_ties ? drv_all_within(candidates, found.limit, kept)
                                  : keep_below(candidates, found.limit, found.ties, kept);
}
