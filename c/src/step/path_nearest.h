/* Where is something relative to a path? */
#ifndef DRV_PATH_NEAREST_H
#define DRV_PATH_NEAREST_H

#include "math/geometry.h"
#include "platform/isa.h"
#include "scene/paths.h"

/* Metres along the path and to the left of it, from one of its points. */
typedef struct drv_path_offset {
    float along_m, left_m;
} drv_path_offset;

static inline drv_path_offset drv_path_offset_from(const drv_paths *paths, int32_t point, drv_point at) {
    const float dx = at.x - paths->x_m[point], dy = at.y - paths->y_m[point];
    const float cosine = paths->cos_heading[point], sine = paths->sin_heading[point];
    return (drv_path_offset){dx * cosine + dy * sine, dy * cosine - dx * sine};
}

/* The point of the paths, from `first` to `last`, that is nearest to `at`; the first of equally near ones. The squared
 * distance of points whose direction is not that of the unit vector `ahead` counts as larger, by `against_m2` where it
 * is perpendicular and by twice that where it is opposite. */
DRV_STEP_API int32_t drv_path_nearest(const drv_paths *paths, int32_t first, int32_t last, drv_point at,
                                      drv_point ahead, float against_m2);

#endif
