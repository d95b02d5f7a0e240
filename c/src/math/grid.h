/* What is near this point?
 *
 * Road segments sorted by the cell of their middle, row of cells by row of cells: a window of cells is then one run of
 * segments a row of cells, in ascending index. */
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

/* Segments of one purpose in grid order. Arrays are owned by the scene; those of floats have DRV_SIMD_PAD entries more,
 * nothing at an infinite distance. */
typedef struct drv_segments {
    int32_t count;
    float *middle_x_m, *middle_y_m;
    float *along_x, *along_y; /* unit vector; zero for a single point */
    float *half_length_m;
    int32_t *cell_start;            /* columns * rows + 1 */
} drv_segments;

typedef struct drv_window {
    int32_t first_column, last_column, first_row, last_row;
} drv_window;

/* The grid that covers the box of the given corners with cells of at least `cell_m`, at most `cell_limit` of them. */
DRV_STEP_API drv_grid drv_grid_cover(float left_m, float bottom_m, float right_m, float top_m, float cell_m,
                                     int32_t cell_limit);

/* Room for the rounding of a few float32 operations on coordinates of up to 100 km. */
static const float drv_rounding_m = 0.05f;

DRV_STEP_API int32_t drv_grid_cell(const drv_grid *grid, float x_m, float y_m);

/* Whether the point is on the grid, whose cells then hold it. */
DRV_STEP_API bool drv_grid_covers(const drv_grid *grid, float x_m, float y_m);

DRV_STEP_API drv_point drv_grid_middle(const drv_grid *grid, int32_t cell);

/* The cells that the square of half side `reach_m` about a point touches, cut to the grid. */
DRV_STEP_API drv_window drv_grid_window(const drv_grid *grid, float x_m, float y_m, float reach_m);

/* The distance from a point to its `wanted`-th nearest middle: what it is likely to be, how far off that may be, and
 * its upper bound. */
typedef struct drv_reach {
    float likely_m, off_m, most_m;
} drv_reach;

/* By the triangle inequality from the cell's own distance, widened by what rounding could lose and cut at `limit_m`: a
 * window of half side most_m holds the `wanted` nearest middles, or all within the limit. `cell_reach_m` holds, for
 * each cell, the distance from its centre to its `wanted`-th nearest middle. */
DRV_STEP_API drv_reach drv_grid_reach(const drv_grid *grid, const float *cell_reach_m, float limit_m, float x_m,
                                      float y_m);

/* Fills cell_reach_m (one a cell). `distances` is room for one float a segment. */
DRV_STEP_API void drv_grid_measure_reach(const drv_grid *grid, const drv_segments *segments, int32_t wanted, float limit_m,
                            float *distances, float *cell_reach_m);

#endif
