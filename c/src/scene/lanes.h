/* Which lanes lead into which, and what is where along a lane? Lanes have the indices of their roads. */
#ifndef DRV_LANES_H
#define DRV_LANES_H

#include "drive.h"
#include "math/geometry.h"

typedef struct drv_lanes {
    int32_t road_count, point_count, link_count; /* point_count: of lanes alone */
    /* Of length road_count + 1; NULL where the scene has no lane graph. Other roads have no points and no links. */
    int32_t *point_start, *successor_start, *predecessor_start;
    /* Of length point_count. arc_m: length along the lane, from its first point. */
    float *x_m, *y_m, *arc_m;
    /* Of length link_count. */
    int32_t *successor, *predecessor;
} drv_lanes;

/* Checks the links of an input that has a lane graph and whose roads were checked: successors of lanes are other
 * lanes. */
drv_status drv_lanes_check(const drv_scene_input *in, char *message);

/* Returns the sizes for the input, without arrays. */
drv_lanes drv_lanes_measure(const drv_scene_input *in);

/* Fills the arrays of a graph of that size. */
void drv_lanes_fill(drv_lanes *lanes, const drv_scene_input *in);

/* The length of a lane. */
static inline float drv_lane_length_m(const drv_lanes *lanes, int32_t lane) {
    return lanes->arc_m[lanes->point_start[lane + 1] - 1];
}

/* Returns the point at a length along a lane; its first or last point beyond the ends. */
drv_point drv_lane_point(const drv_lanes *lanes, int32_t lane, float arc_m);

#endif
