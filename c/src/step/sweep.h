/* Swept overlap: does a vehicle overlap a vehicle or a road edge at any time of a step? */
#ifndef DRV_SWEEP_H
#define DRV_SWEEP_H

#include "math/geometry.h"
#include "math/grid.h"
#include "platform/isa.h"

/* The motion of a box in a step: its centre moves on a line, its heading changes at a constant rate. */
typedef struct drv_sweep {
    drv_point from, to;
    float heading_from_rad, turn_rad;
    float half_length_m, half_width_m;
} drv_sweep;

/* The box of a vehicle in a step. */
typedef struct drv_moving_box {
    drv_sweep sweep;
    drv_box end; /* at the end of the step */
} drv_moving_box;

/* Length of the centre's path. */
DRV_STEP_API float drv_sweep_path_m(const drv_sweep *motion);

/* Broad phase: whether an axis of the box of `a` at the end of the step separates the two sweeps. */
DRV_STEP_API bool drv_separated_by_axes_of(const drv_moving_box *a, const drv_moving_box *b);
/* Narrow phase: swept overlap of two vehicles that no axis of `a` separates. */
DRV_STEP_API bool drv_sweeps_overlap(const drv_moving_box *a, const drv_moving_box *b);

/* What the broad phase needs of a sweep to test it against many edges. */
typedef struct drv_edge_query {
    drv_box box;                                /* at the end of the step */
    drv_point half_back;                        /* half of the vector from the end to the start */
    float half_back_ahead_m, half_back_aside_m; /* the same along the axes of the box */
    float bounding_radius_m;                    /* of the circle about the end position that contains the sweep */
    float turn_margin_m;                        /* bound on the displacement of a corner by the turn */
} drv_edge_query;

/* `radius_m` is the radius of a circle about the end position that contains the sweep. */
DRV_STEP_API drv_edge_query drv_edge_query_of(const drv_moving_box *own, float radius_m);

/* Broad phase against edges first .. first + DRV_WIDTH - 1. Bit i: the sweep may overlap edge first + i. An edge is
 * excluded by its bounding circle, or if its normal or an axis of the box separates the two. */
DRV_STEP_API uint32_t drv_edge_broad_phase_bits(const drv_segments *edges, int32_t first, const drv_edge_query *own);
/* Narrow phase: swept overlap with an edge that the broad phase did not exclude. */
DRV_STEP_API bool drv_sweep_overlaps_edge(const drv_sweep *motion, const drv_segments *edges, int32_t edge);
/* The same for a box at rest. */
DRV_STEP_API bool drv_box_overlaps_edge(drv_box box, const drv_segments *edges, int32_t edge);

#endif
