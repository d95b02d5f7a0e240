/* Which points of a path are in the way of a point of another one? Those near it whose directions differ enough. */
#ifndef DRV_PATH_CROSSING_H
#define DRV_PATH_CROSSING_H

#include "math/vector.h"
#include "scene/paths.h"

/* Bit i: point `first` + i of `paths`, up to point `last`, is within a distance of the point `at` of `own`, and the
 * cosine of the angle between their directions is at most `max_cos`. DRV_WIDTH points at most. */
static inline uint32_t drv_crossing_bits(const drv_paths *own, int32_t at, const drv_paths *paths, int32_t first,
                                         int32_t last, float distance_m, float max_cos) {
    const drv_floats dx = drv_load(paths->x_m + first) - drv_splat(own->x_m[at]);
    const drv_floats dy = drv_load(paths->y_m + first) - drv_splat(own->y_m[at]);
    const drv_floats turn_cos = drv_load(paths->cos_heading + first) * drv_splat(own->cos_heading[at]) +
                                drv_load(paths->sin_heading + first) * drv_splat(own->sin_heading[at]);
    const uint32_t bits = drv_movemask(drv_mask_le(dx * dx + dy * dy, drv_splat(distance_m * distance_m)) &
                                       drv_mask_le(turn_cos, drv_splat(max_cos)));
    return last - first + 1 < DRV_WIDTH ? bits & (((uint32_t)1 << (last - first + 1)) - 1) : bits;
}

#endif
