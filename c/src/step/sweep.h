/* What may something have met on its way through a step? */
#ifndef DRV_SWEEP_H
#define DRV_SWEEP_H

#include "math/geometry.h"
#include "math/grid.h"
#include "step/isa.h"

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

/* Sure that they do not meet, by the axes of `a` now. */
DRV_STEP_API bool drv_separated_by_axes_of(const drv_mover *a, const drv_mover *b);
/* For two of which that is not sure by the axes of `a`. */
DRV_STEP_API bool drv_sweeps_overlap(const drv_mover *a, const drv_mover *b);

/* What an edge is ruled out by: the box now, how far the sweep reaches from there, and where it came from. */
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
/* For an edge in question. */
DRV_STEP_API bool drv_sweep_overlaps_edge(const drv_sweep *motion, const drv_segments *edges, int32_t edge);
DRV_STEP_API bool drv_box_overlaps_edge(drv_box box, const drv_segments *edges, int32_t edge);

#endif
