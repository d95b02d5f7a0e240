/* Which lanes succeed a lane, and which point is at a length along it? The index of a lane is that of its road. */
#ifndef DRV_LANES_H
#define DRV_LANES_H

#include <math.h>
#include <stdbool.h>

#include "drive.h"
#include "math/geometry.h"

typedef struct drv_lanes {
    int32_t road_count, point_count, link_count; /* points of lanes only */
    /* Of length road_count + 1; NULL where the scene has no lane graph. Roads that are no lanes have no entries. */
    int32_t *point_start, *successor_start, *predecessor_start;
    /* Of length point_count; arc_m is the arc length from the lane's first point. */
    float *x_m, *y_m, *arc_m;
    float *z_m; /* heights; NULL without them */
    /* Of length link_count. */
    int32_t *successor, *predecessor;
} drv_lanes;

/* Checks the links of an input that has a lane graph and whose roads were checked: successors of lanes are other
 * lanes. */
drv_status drv_lanes_check(const drv_scene_input *in, char *message);

/* Returns the counts for an input; the arrays are NULL. */
drv_lanes drv_lanes_measure(const drv_scene_input *in);

/* Fills the arrays, which have the lengths that drv_lanes_measure counted. */
void drv_lanes_fill(drv_lanes *lanes, const drv_scene_input *in);

static inline float drv_lane_length_m(const drv_lanes *lanes, int32_t lane) {
    return lanes->arc_m[lanes->point_start[lane + 1] - 1];
}

/* A place between two neighbouring points of a lane, or at one. */
typedef struct drv_lane_part {
    int32_t before, after;
    float share; /* of the second point */
} drv_lane_part;

/* Returns the place at an arc length, clipped to the lane. */
static inline drv_lane_part drv_lane_part_at(const drv_lanes *lanes, int32_t lane, float arc_m) {
    const int32_t last = lanes->point_start[lane + 1] - 1;
    int32_t i = lanes->point_start[lane];
    while (i < last && lanes->arc_m[i + 1] <= arc_m) i++;
    if (i == last) return (drv_lane_part){i, i, 0.0f};
    const float step_m = lanes->arc_m[i + 1] - lanes->arc_m[i];
    const float share = step_m > 0.0f ? drv_clip((arc_m - lanes->arc_m[i]) / step_m, 0.0f, 1.0f) : 0.0f;
    return (drv_lane_part){i, i + 1, share};
}

/* Interpolates values of the points of a lane. */
static inline float drv_on_lane(const float *values, drv_lane_part part) {
    return values[part.before] + part.share * (values[part.after] - values[part.before]);
}

/* Returns the point at an arc length, clipped to the lane. */
static inline drv_point drv_lane_point(const drv_lanes *lanes, int32_t lane, float arc_m) {
    const drv_lane_part part = drv_lane_part_at(lanes, lane, arc_m);
    return (drv_point){drv_on_lane(lanes->x_m, part), drv_on_lane(lanes->y_m, part)};
}

/* Returns the unit vector of the lane at an arc length; 0 where its points have no direction. */
static inline drv_point drv_lane_direction(const drv_lanes *lanes, int32_t lane, float arc_m) {
    const int32_t last = lanes->point_start[lane + 1] - 1;
    int32_t i = lanes->point_start[lane];
    while (i + 1 < last && lanes->arc_m[i + 1] <= arc_m) i++;
    if (i == last) return (drv_point){0.0f, 0.0f};
    const float dx = lanes->x_m[i + 1] - lanes->x_m[i], dy = lanes->y_m[i + 1] - lanes->y_m[i];
    const float length_m = sqrtf(dx * dx + dy * dy), per_m = length_m > 0.0f ? 1.0f / length_m : 0.0f;
    return (drv_point){dx * per_m, dy * per_m};
}

/* A point on a lane, and how far away it is from another point. */
typedef struct drv_lane_place {
    int32_t lane;
    double along_m, distance_m;
    float z_m; /* height of the lane there; 0 without heights */
} drv_lane_place;

/* Returns the point of a lane nearest to `at`; at an infinite distance where the lane has none. Where `ahead`, a unit
 * vector, is not NULL, segments that differ from it by more than 60 degrees are ignored: they are not of the lane that
 * a vehicle with that heading drives on. */
drv_lane_place drv_lane_nearest(const drv_lanes *lanes, int32_t lane, drv_point at, const drv_point *ahead);

/* Whether a place is on another level than a height; false for NAN. */
static inline bool drv_lane_is_apart(const drv_lanes *lanes, drv_lane_place place, float z_m) {
    return lanes->z_m && fabsf(place.z_m - z_m) > (float)DRV_LEVEL_HEIGHT_M;
}

#endif
