/* Which road segments are near a point?
 *
 * Segments are sorted by the cell of their middle, cells in row-major order: each row of a window of cells is then one
 * contiguous range of segments. */
#ifndef DRV_GRID_H
#define DRV_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "math/geometry.h"
#include "platform/isa.h"

typedef struct drv_grid {
    float left_m, bottom_m, cell_m;
    int32_t columns, rows;
} drv_grid;

/* A set of segments, all of a scene or its road edges, in grid order. The scene owns the arrays; those of floats are
 * padded by DRV_SIMD_PAD entries at an infinite distance. */
typedef struct drv_segments {
    int32_t count;
    float *middle_x_m, *middle_y_m;
    float *along_x, *along_y; /* unit vector; zero for a single point */
    float *half_length_m;
    float *middle_z_m, *half_rise_m; /* height of the middle, and from there to the end; none without heights */
    int32_t *cell_start; /* first segment of each cell; columns * rows + 1 entries, the last is count */
} drv_segments;

/* Where a point is relative to a segment. */
typedef struct drv_segment_place {
    float nearest_m;  /* from the middle to the nearest point of the segment, along it */
    float offset_m;   /* of the point, to the left of the line through the segment */
    float distance_m; /* of the point from the segment */
} drv_segment_place;

static inline drv_segment_place drv_place_by_segment(const drv_segments *segments, int32_t segment, drv_point at) {
    const drv_point along = {segments->along_x[segment], segments->along_y[segment]};
    const float dx = at.x - segments->middle_x_m[segment], dy = at.y - segments->middle_y_m[segment];
    const float half_m = segments->half_length_m[segment], along_m = dx * along.x + dy * along.y;
    const float nearest_m = drv_clip(along_m, -half_m, half_m), beyond_m = along_m - nearest_m;
    const float offset_m = dy * along.x - dx * along.y;
    return (drv_segment_place){nearest_m, offset_m, sqrtf(beyond_m * beyond_m + offset_m * offset_m)};
}

/* A rectangle of cells; both ends are included. */
typedef struct drv_window {
    int32_t first_column, last_column, first_row, last_row;
} drv_window;

/* Returns a grid over the given rectangle. Its cells are `cell_m` wide, doubled until at most `cell_limit` suffice. */
DRV_STEP_API drv_grid drv_grid_cover(float left_m, float bottom_m, float right_m, float top_m, float cell_m,
                                     int32_t cell_limit);

/* Bound on the rounding error of a few float32 operations on coordinates of up to 100 km. */
static const float drv_rounding_m = 0.05f;

/* The cell that holds a point; for points outside the grid, the nearest one. */
DRV_STEP_API int32_t drv_grid_cell(const drv_grid *grid, float x_m, float y_m);

/* Whether the point lies inside the grid. */
DRV_STEP_API bool drv_grid_covers(const drv_grid *grid, float x_m, float y_m);

/* The centre of a cell. */
DRV_STEP_API drv_point drv_grid_centre(const drv_grid *grid, int32_t cell);

/* The cells that a square about a point overlaps, clipped to the grid. */
DRV_STEP_API drv_window drv_grid_window(const drv_grid *grid, float x_m, float y_m, float half_side_m);

/* What is known of the distance from a point to its k-th nearest segment, measured to the segments' middles. */
typedef struct drv_kth_distance {
    float estimate_m;
    float error_m; /* of the estimate; a hint, where the estimate comes from drv_grid_kth_distance */
    float upper_m; /* upper bound on the distance */
} drv_kth_distance;

/* Bounds that distance. By the triangle inequality the distances of a point and of its cell's centre to their k-th
 * nearest segments differ by at most the distance between point and centre; `cell_kth_distance_m[cell]` is an upper
 * bound on that of the centre. The bounds include the rounding error, and upper_m is clipped to `limit_m`: a window of
 * half side upper_m holds the k nearest segments, or all within the limit. */
DRV_STEP_API drv_kth_distance drv_grid_kth_distance(const drv_grid *grid, const float *cell_kth_distance_m,
                                                    float limit_m, float x_m, float y_m);

/* Writes to cell_kth_distance_m, for each cell, an upper bound on the distance from its centre to its `k`-th nearest
 * segment: that of the k-th nearest in the smallest square of cells about it that holds k, but at most `limit_m`.
 * `distances` is scratch of one float per segment. */
DRV_STEP_API void drv_grid_measure_kth_distances(const drv_grid *grid, const drv_segments *segments, int32_t k,
                                                 float limit_m, float *distances, float *cell_kth_distance_m);

#endif
