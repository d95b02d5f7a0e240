/* Swept overlap: does a vehicle overlap a vehicle or a road edge at any time of a step? */
#ifndef DRV_SWEEP_H
#define DRV_SWEEP_H

#include "math/geometry.h"
#include "math/grid.h"
#include "platform/isa.h"

/* The way of a box through a step: straight, while it turns evenly. */
typedef struct drv_sweep {
    drv_point from, to;
    float heading_from_rad, turn_rad, half_length_m, half_width_m;
} drv_sweep;

/* A vehicle in a step: its way, and where it is at the end. */
typedef struct drv_mover {
    drv_sweep way;
    drv_box now;
} drv_mover;

DRV_STEP_API float drv_sweep_path_m(const drv_sweep *motion);

/* Broad phase: whether an axis of `a` at its end pose separates the two sweeps. */
DRV_STEP_API bool drv_separated_by_axes_of(const drv_mover *a, const drv_mover *b);
/* Narrow phase, for two that no axis of `a` separates. */
DRV_STEP_API bool drv_sweeps_overlap(const drv_mover *a, const drv_mover *b);

/* What the broad phase rules an edge out by: the box at its end pose, the sweep's reach from there, and its start. */
typedef struct drv_edge_query {
    drv_box box;
    drv_point half_back;                        /* half way from now to before */
    float half_back_ahead_m, half_back_aside_m; /* the same along the box's own axes */
    float reach_m, turned_m;                    /* turned: how much further a corner may have been on its way */
} drv_edge_query;

/* `reach_m`: from its centre now to the farthest that the box covers on its way. */
DRV_STEP_API drv_edge_query drv_edge_query_of(const drv_mover *own, float reach_m);

/* Bit i, of DRV_WIDTH: the sweep may meet edge first + i. The others are surely clear of it, by their distance, by the
 * edge's line or by an axis of the box. */
DRV_STEP_API uint32_t drv_edge_broad_phase_bits(const drv_segments *edges, int32_t first, const drv_edge_query *own);
/* Narrow phase, for an edge that the broad phase did not rule out. */
DRV_STEP_API bool drv_sweep_overlaps_edge(const drv_sweep *motion, const drv_segments *edges, int32_t edge);
DRV_STEP_API bool drv_box_overlaps_edge(drv_box box, const drv_segments *edges, int32_t edge);

#endif
