/* Where is something relative to a path? */
#include "step/path_nearest.h"

#include "math/vector.h"

int32_t drv_path_nearest(const drv_paths *paths, int32_t first, int32_t last, drv_point at, drv_point ahead,
                         float against_m2) {
    const drv_floats x_m = drv_splat(at.x), y_m = drv_splat(at.y);
    const drv_floats ahead_x = drv_splat(ahead.x), ahead_y = drv_splat(ahead.y), against = drv_splat(against_m2);
    drv_floats best_m2 = drv_splat(INFINITY);
    drv_ints best = drv_iota(first);
    for (int32_t i = first; i <= last; i += DRV_WIDTH) {
        const drv_floats turn_cos =
            drv_load(paths->cos_heading + i) * ahead_x + drv_load(paths->sin_heading + i) * ahead_y;
        const drv_floats away_m2 =
            drv_squared_distances(paths->x_m + i, paths->y_m + i, x_m, y_m) + against * (1.0f - turn_cos);
        /* points after the last one are no better than infinitely far away */
        const drv_ints index = drv_iota(i), better = ~drv_mask_le(best_m2, away_m2) & (index <= last);
        best_m2 = (drv_floats)((better & (drv_ints)away_m2) | (~better & (drv_ints)best_m2));
        best = (better & index) | (~better & best);
    }
    int32_t found = best[0];
    float found_m2 = best_m2[0];
    for (int32_t i = 1; i < DRV_WIDTH; i++)
        if (best_m2[i] < found_m2 || (best_m2[i] == found_m2 && best[i] < found)) {
            found = best[i];
            found_m2 = best_m2[i];
        }
    return found;
}
