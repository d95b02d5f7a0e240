/* Which are the nearest of many? */
#ifndef DRV_NEAREST_H
#define DRV_NEAREST_H

#include <stdint.h>

#include "platform/isa.h"
#include "math/vector.h"

/* What was chosen, in ascending order. */
typedef struct drv_selection {
    const int32_t *name;
    int32_t count;
} drv_selection;

/* What is chosen from: squared distances by blocks of DRV_WIDTH, and what the first of each block is called; the others
 * of a block are called by the numbers that follow. Names ascend. What is nothing is infinitely far. `distance2` has
 * DRV_SIMD_PAD entries of room behind the last block, which are overwritten. */
typedef struct drv_candidates {
    float *distance2;
    const int32_t *first;
    int32_t blocks;
} drv_candidates;

/* Where the threshold lies: none above `high`, which is finite, is wanted. The guesses are a hint, the lower first:
 * good ones, which have it closely between them, save time, bad ones cost some. There are none where the lower is not
 * above 0. */
typedef struct drv_bounds {
    float low_guess, high_guess, high;
} drv_bounds;

/* Keeps the `wanted` nearest of those within `bounds.high`, ties by order, and writes their names in ascending order
 * to `kept`, which has DRV_SIMD_PAD entries of room behind the last one. Returns how many. `room` is as long as
 * `distance2`. */
DRV_STEP_API int32_t drv_k_nearest(drv_candidates candidates, int32_t wanted, drv_bounds bounds, float *room, int32_t *kept);

/* The names of all within `high`; `kept` has DRV_SIMD_PAD entries of room behind the last one. */
DRV_STEP_API int32_t drv_all_within(drv_candidates candidates, float high, int32_t *kept);

/* The `rank`-th smallest (from 0) of values[0 .. count), whose order it changes. */
DRV_STEP_API float drv_select_rank(float *values, int32_t count, int32_t rank);

#endif
