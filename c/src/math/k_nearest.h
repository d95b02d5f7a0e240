/* Which of many candidates are the k nearest? */
#ifndef DRV_K_NEAREST_H
#define DRV_K_NEAREST_H

#include <stdint.h>

#include "math/vector.h"
#include "platform/isa.h"

/* The indices of the selected candidates, ascending. */
typedef struct drv_selection {
    const int32_t *index;
    int32_t count;
} drv_selection;

/* The candidates of a search: squared distances in blocks of DRV_WIDTH, and the index of the first candidate of each
 * block. Indices ascend, and are consecutive within a block. Padding is at an infinite distance. `distance2` has
 * DRV_SIMD_PAD more entries after the last block, which the search overwrites. */
typedef struct drv_candidates {
    float *distance2;
    const int32_t *first;
    int32_t blocks;
} drv_candidates;

/* Bounds on the squared distance of the k-th nearest. No candidate above `high`, which is finite, is selected. The
 * guesses are hints, ignored where low_guess <= 0: a tight bracket of the result saves time, a wrong one costs some,
 * and neither changes the selection. */
typedef struct drv_bounds {
    float low_guess, high_guess, high;
} drv_bounds;

/* Selects the `wanted` nearest candidates within `bounds.high`; ties go to the lower index. Writes their indices,
 * ascending, to `kept`, which has DRV_SIMD_PAD more entries than needed, and returns their number. `buffer` is scratch
 * as long as `distance2`. */
DRV_STEP_API int32_t drv_k_nearest(drv_candidates candidates, int32_t wanted, drv_bounds bounds, float *buffer,
                                   int32_t *kept);

/* Writes the indices of all candidates within `high` to `kept`, which has DRV_SIMD_PAD more entries than needed;
 * returns their number. */
DRV_STEP_API int32_t drv_all_within(drv_candidates candidates, float high, int32_t *kept);

/* Returns the `rank`-th smallest (from 0) of values[0 .. count), and reorders them. */
DRV_STEP_API float drv_select_rank(float *values, int32_t count, int32_t rank);

#endif
