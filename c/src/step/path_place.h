/* What are the values of a path between two of its points? */
#ifndef DRV_PATH_PLACE_H
#define DRV_PATH_PLACE_H

#include <stdint.h>

#include "scene/paths.h"

/* A place between two neighbouring points of a path. */
typedef struct drv_path_place {
    int32_t before, after;
    float share; /* of the second point */
} drv_path_place;

/* The place at an arc length; beyond the end the last point, and before the start, for which a vehicle may ask that its
 * log moved backwards, the first one. */
static inline drv_path_place drv_path_place_at(const drv_paths *paths, int32_t path, float path_m) {
    const int32_t last = drv_path_points(paths, path) - 1;
    const float pitches = drv_larger(path_m, 0.0f) / drv_path_pitch_m;
    int32_t before = (int32_t)pitches;
    if (before > last - 1) before = last - 1;
    const int32_t first = paths->point_start[path];
    return (drv_path_place){first + before, first + before + 1, drv_smaller(pitches - (float)before, 1.0f)};
}

/* Interpolates values of the points of a path. */
static inline float drv_between(const float *values, drv_path_place place) {
    return values[place.before] + place.share * (values[place.after] - values[place.before]);
}

/* The desired speed at an arc length. */
static inline float drv_path_speed(const drv_paths *paths, int32_t path, float path_m) {
    return drv_between(paths->speed_mps, drv_path_place_at(paths, path, path_m));
}

#endif
