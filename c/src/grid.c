/* What is near this point? */
#include "grid.h"

#include <math.h>

#include "geometry.h"
#include "vector.h"

/* Room for the rounding of a few float32 operations on coordinates of up to 100 km. */
static const float rounding_m = 0.05f;

/* After so many rounds a bracket is sorted instead of being narrowed further: its values are nearly equal. */
enum { round_limit = 20 };

/* While more than `few` are in question a search aims at `aim_beyond` more or fewer than wanted, to get the threshold
 * between two near bounds. */
enum { few = 32, aim_beyond = 6 };

/* Segments that are sorted for a cell, beyond 16 a slot: a map has a few thousand in all. */
enum { sorted_limit = 8192 };

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

/* Index of the cell column or row, cut to the grid; safe for any finite coordinate. */
static int32_t slot(float offset_m, float cell_m, int32_t count) {
    return (int32_t)drv_clip(offset_m / cell_m, 0.0f, (float)(count - 1));
}

int32_t drv_grid_cell(const drv_grid *grid, float x_m, float y_m) {
    return slot(y_m - grid->bottom_m, grid->cell_m, grid->rows) * grid->columns +
           slot(x_m - grid->left_m, grid->cell_m, grid->columns);
}

drv_window drv_grid_window(const drv_grid *grid, float x_m, float y_m, float reach_m) {
    float dx = x_m - grid->left_m, dy = y_m - grid->bottom_m;
    return (drv_window){
        slot(dx - reach_m, grid->cell_m, grid->columns),
        slot(dx + reach_m, grid->cell_m, grid->columns),
        slot(dy - reach_m, grid->cell_m, grid->rows),
        slot(dy + reach_m, grid->cell_m, grid->rows),
    };
}

static drv_point cell_centre(const drv_grid *grid, int32_t cell) {
    return (drv_point){grid->left_m + ((float)(cell % grid->columns) + 0.5f) * grid->cell_m,
                       grid->bottom_m + ((float)(cell / grid->columns) + 0.5f) * grid->cell_m};
}

drv_reach drv_grid_reach(const drv_grid *grid, const float *cell_reach_m, float limit_m, float x_m, float y_m) {
    const int32_t cell = drv_grid_cell(grid, x_m, y_m);
    const drv_point centre = cell_centre(grid, cell);
    const float dx = x_m - centre.x, dy = y_m - centre.y, offset_m = sqrtf(dx * dx + dy * dy) + rounding_m;
    return (drv_reach){cell_reach_m[cell], drv_smaller(cell_reach_m[cell] + offset_m, limit_m + rounding_m)};
}

/* The `rank`-th smallest (from 0) of values[0 .. count): Hoare's selection, in place. */
static float select_rank(float *values, int32_t count, int32_t rank) {
    int32_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = values[low + (high - low) / 2];
        int32_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot) i++;
            while (values[j] > pivot) j--;
            if (i <= j) {
                float swap = values[i];
                values[i++] = values[j];
                values[j--] = swap;
            }
        }
        if (rank <= j) high = j;
        else if (rank >= i) low = i;
        else break;
    }
    return values[rank];
}

/* How many segments stand in the cells within `ring` of a cell; and their distances to its centre. */
static int32_t gather(const drv_grid *grid, const drv_segments *segments, int32_t cell, int32_t ring,
                      float *distance2) {
    drv_point centre = cell_centre(grid, cell);
    int32_t column = cell % grid->columns, row = cell / grid->columns, count = 0;
    int32_t left = column - ring < 0 ? 0 : column - ring;
    int32_t right = column + ring >= grid->columns ? grid->columns - 1 : column + ring;
    for (int32_t y = row - ring < 0 ? 0 : row - ring; y <= row + ring && y < grid->rows; y++) {
        int32_t first = segments->cell_start[y * grid->columns + left];
        int32_t end = segments->cell_start[y * grid->columns + right + 1];
        for (int32_t i = first; i < end; i++) {
            float dx = segments->middle_x_m[i] - centre.x, dy = segments->middle_y_m[i] - centre.y;
            distance2[count++] = dx * dx + dy * dy;
        }
    }
    return count;
}

static int32_t count_in_ring(const drv_grid *grid, const drv_segments *segments, int32_t cell, int32_t ring) {
    int32_t column = cell % grid->columns, row = cell / grid->columns, count = 0;
    int32_t left = column - ring < 0 ? 0 : column - ring;
    int32_t right = column + ring >= grid->columns ? grid->columns - 1 : column + ring;
    for (int32_t y = row - ring < 0 ? 0 : row - ring; y <= row + ring && y < grid->rows; y++)
        count += segments->cell_start[y * grid->columns + right + 1] - segments->cell_start[y * grid->columns + left];
    return count;
}

void drv_grid_measure_reach(const drv_grid *grid, const drv_segments *segments, int32_t wanted, float limit_m,
                            float *distances, float *cell_reach_m) {
    int32_t ring = 0;
    const int32_t last_ring = (int32_t)drv_smaller(limit_m / grid->cell_m, 1e6f) + 1;
    for (int32_t cell = 0; cell < grid->columns * grid->rows; cell++) {
        /* Neighbours need nearly the same ring, so the search starts from the last answer. */
        while (ring > 0 && count_in_ring(grid, segments, cell, ring - 1) >= wanted) ring--;
        while (ring < last_ring && count_in_ring(grid, segments, cell, ring) < wanted) ring++;
        cell_reach_m[cell] = limit_m;
        if (wanted <= 0) cell_reach_m[cell] = 0.0f;
        if (wanted <= 0 || ring >= last_ring) continue;
        /* So dense a place is not worth sorting for every cell around it: the ring itself is a bound. */
        if (count_in_ring(grid, segments, cell, ring) > 16 * wanted + sorted_limit) {
            cell_reach_m[cell] = drv_smaller(1.4143f * ((float)ring + 1.0f) * grid->cell_m, limit_m);
            continue;
        }
        int32_t count = gather(grid, segments, cell, ring, distances);
        cell_reach_m[cell] = drv_smaller(sqrtf(select_rank(distances, count, wanted - 1)), limit_m);
    }
}

/* `below` values are at most `low`, `inside` at most `high`. */
typedef struct bracket {
    float low, high;
    int32_t below, inside;
} bracket;

/* Narrows until exactly `wanted` are inside, or the bracket cannot be split, or it is not worth it. */
static bracket narrow(const float *values, int32_t count, int32_t wanted, bracket range) {
    int32_t aim = 0;
    for (int32_t round = 0; range.inside > wanted && round < round_limit; round++) {
        /* Squared distances spread evenly over an area, so counts grow nearly linearly; halving guards the rest. */
        const int32_t between = range.inside - range.below, rank = wanted + (between > few ? aim : 0) - range.below;
        const float share = (round & 3) == 3 || rank <= 0 || rank >= between ? 0.5f : (float)rank / (float)between;
        float middle = range.low + share * (range.high - range.low);
        if (!(middle > range.low && middle < range.high)) {
            middle = range.low + 0.5f * (range.high - range.low);
            if (!(middle > range.low && middle < range.high)) break;
        }
        const int32_t at_most = drv_count_at_most(values, count, middle);
        if (at_most >= wanted) range.high = middle, range.inside = at_most, aim = -aim_beyond;
        else range.low = middle, range.below = at_most, aim = aim_beyond;
    }
    return range;
}

/* The names of all values at most `limit`. */
static int32_t keep_at_most(const float *values, const int32_t *names, int32_t count, float limit, int32_t *kept) {
    int32_t found = 0;
    for (int32_t i = 0; i < count; i += DRV_WIDTH)
        found += drv_append(kept + found, names + i, drv_at_most(values + i, limit));
    return found;
}

/* The names of all values below `limit` and of the first `ties` that equal it. */
static int32_t keep_below(const float *values, const int32_t *names, int32_t count, float limit, int32_t ties,
                          int32_t *kept) {
    int32_t found = 0;
    for (int32_t i = 0; i < count; i++) {
        bool tie = values[i] == limit;
        kept[found] = names[i];
        found += values[i] < limit || (tie && ties > 0);
        ties -= tie;
    }
    return found;
}

/* The values of a bracket. */
static int32_t gather_between(const float *values, int32_t count, bracket range, float *room) {
    int32_t found = 0;
    for (int32_t i = 0; i < count; i += DRV_WIDTH)
        found += drv_append(room + found, values + i,
                            drv_at_most(values + i, range.high) & ~drv_at_most(values + i, range.low));
    return found;
}

int32_t drv_nearest(drv_candidates candidates, int32_t wanted, drv_bracket bounds, float *room, int32_t *kept) {
    float *values = candidates.distance2;
    const int32_t *names = candidates.name, count = candidates.count;
    if (wanted <= 0) return 0;
    for (int32_t i = 0; i < DRV_LANES; i++) values[count + i] = INFINITY;
    bracket range = {-1.0f, bounds.high, 0, 0};
    if (bounds.likely > 0.0f && bounds.likely < bounds.high) {
        const int32_t at_most = drv_count_at_most(values, count, bounds.likely);
        if (at_most >= wanted) range.high = bounds.likely, range.inside = at_most;
        else range.low = bounds.likely, range.below = at_most;
    }
    if (range.inside == 0) range.inside = drv_count_at_most(values, count, bounds.high);
    if (range.inside <= wanted) return keep_at_most(values, names, count, range.high, kept);

    range = narrow(values, count, wanted, range);
    if (range.inside == wanted) return keep_at_most(values, names, count, range.high, kept);
    const int32_t between = gather_between(values, count, range, room), rank = wanted - range.below;
    const float threshold = select_rank(room, between, rank - 1);
    int32_t smaller = 0, equal = 0;
    for (int32_t i = 0; i < between; i++) {
        smaller += room[i] < threshold;
        equal += room[i] == threshold;
    }
    const int32_t ties = rank - smaller;
    if (ties == equal) return keep_at_most(values, names, count, threshold, kept);
    return keep_below(values, names, count, threshold, ties, kept);
}
