/* Which road segments are near a point? */
#include "math/grid.h"

#include <math.h>

#include "math/geometry.h"
#include "math/k_nearest.h"

/* Limit on the segments that are searched for one cell, in addition to 16 k: a map has a few thousand in all. */
enum { search_limit = 8192 };

drv_grid drv_grid_cover(float left_m, float bottom_m, float right_m, float top_m, float cell_m, int32_t cell_limit) {
    drv_grid grid = {left_m, bottom_m, cell_m, 1, 1};
    for (;; grid.cell_m *= 2.0f) {
        float columns = (right_m - left_m) / grid.cell_m, rows = (top_m - bottom_m) / grid.cell_m;
        if ((columns + 1.0f) * (rows + 1.0f) > (float)cell_limit) continue;
        grid.columns = (int32_t)columns + 1;
        grid.rows = (int32_t)rows + 1;
        return grid;
    }
}

/* Index of the cell column or row, clipped to the grid; safe for any finite coordinate. */
static int32_t clipped_index(float offset_m, float cell_m, int32_t count) {
    return (int32_t)drv_clip(offset_m / cell_m, 0.0f, (float)(count - 1));
}

int32_t drv_grid_cell(const drv_grid *grid, float x_m, float y_m) {
    return clipped_index(y_m - grid->bottom_m, grid->cell_m, grid->rows) * grid->columns +
           clipped_index(x_m - grid->left_m, grid->cell_m, grid->columns);
}

bool drv_grid_covers(const drv_grid *grid, float x_m, float y_m) {
    const float column = (x_m - grid->left_m) / grid->cell_m, row = (y_m - grid->bottom_m) / grid->cell_m;
    return column >= 0.0f && column < (float)grid->columns && row >= 0.0f && row < (float)grid->rows;
}

drv_window drv_grid_window(const drv_grid *grid, float x_m, float y_m, float half_side_m) {
    float dx = x_m - grid->left_m, dy = y_m - grid->bottom_m;
    return (drv_window){
        clipped_index(dx - half_side_m, grid->cell_m, grid->columns),
        clipped_index(dx + half_side_m, grid->cell_m, grid->columns),
        clipped_index(dy - half_side_m, grid->cell_m, grid->rows),
        clipped_index(dy + half_side_m, grid->cell_m, grid->rows),
    };
}

drv_point drv_grid_centre(const drv_grid *grid, int32_t cell) {
    return (drv_point){grid->left_m + ((float)(cell % grid->columns) + 0.5f) * grid->cell_m,
                       grid->bottom_m + ((float)(cell / grid->columns) + 0.5f) * grid->cell_m};
}

drv_kth_distance drv_grid_kth_distance(const drv_grid *grid, const float *cell_kth_distance_m, float limit_m,
                                       float x_m, float y_m) {
    const int32_t cell = drv_grid_cell(grid, x_m, y_m);
    const drv_point centre = drv_grid_centre(grid, cell);
    const float dx = x_m - centre.x, dy = y_m - centre.y, error_m = sqrtf(dx * dx + dy * dy) + drv_rounding_m;
    const float upper_m = drv_smaller(cell_kth_distance_m[cell] + error_m, limit_m + drv_rounding_m);
    return (drv_kth_distance){cell_kth_distance_m[cell], error_m, upper_m};
}

/* The cells at most `ring` columns and rows away from a cell. */
static drv_window ring_about(const drv_grid *grid, int32_t cell, int32_t ring) {
    const int32_t column = cell % grid->columns, row = cell / grid->columns;
    return (drv_window){
        column - ring < 0 ? 0 : column - ring,
        column + ring >= grid->columns ? grid->columns - 1 : column + ring,
        row - ring < 0 ? 0 : row - ring,
        row + ring >= grid->rows ? grid->rows - 1 : row + ring,
    };
}

/* Writes the squared distances from the centre of a cell to all segments of its ring, and returns their number. */
static int32_t gather(const drv_grid *grid, const drv_segments *segments, int32_t cell, int32_t ring,
                      float *distance2) {
    const drv_point centre = drv_grid_centre(grid, cell);
    const drv_window window = ring_about(grid, cell, ring);
    int32_t count = 0;
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = segments->cell_start + y * grid->columns;
        for (int32_t i = cells[window.first_column]; i < cells[window.last_column + 1]; i++) {
            const float dx = segments->middle_x_m[i] - centre.x, dy = segments->middle_y_m[i] - centre.y;
            distance2[count++] = dx * dx + dy * dy;
        }
    }
    return count;
}

/* The number of segments that `gather` would write. */
static int32_t count_in_ring(const drv_grid *grid, const drv_segments *segments, int32_t cell, int32_t ring) {
    const drv_window window = ring_about(grid, cell, ring);
    int32_t count = 0;
    for (int32_t y = window.first_row; y <= window.last_row; y++) {
        const int32_t *cells = segments->cell_start + y * grid->columns;
        count += cells[window.last_column + 1] - cells[window.first_column];
    }
    return count;
}

void drv_grid_measure_kth_distances(const drv_grid *grid, const drv_segments *segments, int32_t k, float limit_m,
                                    float *distances, float *cell_kth_distance_m) {
    int32_t ring = 0;
    const int32_t last_ring = (int32_t)drv_smaller(limit_m / grid->cell_m, 1e6f) + 1;
    for (int32_t cell = 0; cell < grid->columns * grid->rows; cell++) {
        /* Neighbouring cells need nearly the same ring, so the search starts from the last result. */
        while (ring > 0 && count_in_ring(grid, segments, cell, ring - 1) >= k) ring--;
        while (ring < last_ring && count_in_ring(grid, segments, cell, ring) < k) ring++;
        cell_kth_distance_m[cell] = limit_m;
        if (k <= 0) cell_kth_distance_m[cell] = 0.0f;
        if (k <= 0 || ring >= last_ring) continue;
        /* Too many segments to search for every cell: the farthest corner of the ring is an upper bound, with sqrt(2)
         * rounded up. */
        if (count_in_ring(grid, segments, cell, ring) > 16 * k + search_limit) {
            cell_kth_distance_m[cell] = drv_smaller(1.4143f * ((float)ring + 1.0f) * grid->cell_m, limit_m);
            continue;
        }
        int32_t count = gather(grid, segments, cell, ring, distances);
        cell_kth_distance_m[cell] = drv_smaller(sqrtf(drv_select_rank(distances, count, k - 1)), limit_m);
    }
}
