/* Does the grid find the nearest? Against brute force over every segment, inside the grid, on its boundary, outside. */
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "math/grid.h"
#include "ranked.h"
#include "rng.h"

enum { SEGMENT_CAPACITY = 400 };

typedef struct test_map {
    drv_grid grid;
    drv_segments segments;
    float x_m[SEGMENT_CAPACITY], y_m[SEGMENT_CAPACITY];
    float distances[SEGMENT_CAPACITY];
    int32_t *cell_start;
    float *cell_kth_distance_m;
} test_map;

static int32_t cell_count(const test_map *map) { return map->grid.columns * map->grid.rows; }

/* `count` middles on a map of the given size about the origin, sorted into cells as a scene would. */
static void make_map(test_map *map, test_rng *rng, int32_t count, double wide_m, double high_m, int32_t cell_limit) {
    /* random middles, and their bounds */
    float left = INFINITY, bottom = INFINITY, right = -INFINITY, top = -INFINITY;
    ranked order[SEGMENT_CAPACITY];
    float x_m[SEGMENT_CAPACITY], y_m[SEGMENT_CAPACITY];
    for (int32_t i = 0; i < count; i++) {
        /* Two in three are close together, so that the counts of cells differ much. */
        const double share = i % 3 ? 0.1 : 1.0;
        x_m[i] = (float)(share * rng_between(rng, -0.5, 0.5) * wide_m);
        y_m[i] = (float)(share * rng_between(rng, -0.5, 0.5) * high_m);
        left = fminf(left, x_m[i]);
        right = fmaxf(right, x_m[i]);
        bottom = fminf(bottom, y_m[i]);
        top = fmaxf(top, y_m[i]);
    }
    /* the grid over them, and their order by cell */
    if (count == 0) left = right = bottom = top = 0.0f;
    map->grid = drv_grid_cover(left, bottom, right, top, 5.0f, cell_limit);
    for (int32_t i = 0; i < count; i++) order[i] = (ranked){(float)drv_grid_cell(&map->grid, x_m[i], y_m[i]), i};
    qsort(order, (size_t)count, sizeof *order, by_value_then_index);
    /* the segments in this order */
    map->cell_start = calloc((size_t)cell_count(map) + 1, sizeof *map->cell_start);
    map->cell_kth_distance_m = calloc((size_t)cell_count(map), sizeof *map->cell_kth_distance_m);
    for (int32_t i = 0; i < count; i++) {
        map->x_m[i] = x_m[order[i].index];
        map->y_m[i] = y_m[order[i].index];
        map->cell_start[(int32_t)order[i].value + 1]++;
    }
    for (int32_t cell = 0; cell < cell_count(map); cell++) map->cell_start[cell + 1] += map->cell_start[cell];
    map->segments = (drv_segments){.count = count, .middle_x_m = map->x_m, .middle_y_m = map->y_m,
                                   .cell_start = map->cell_start};
}

static void free_map(test_map *map) {
    free(map->cell_start);
    free(map->cell_kth_distance_m);
}

static bool in_window(const test_map *map, drv_window window, int32_t segment) {
    const int32_t cell = drv_grid_cell(&map->grid, map->x_m[segment], map->y_m[segment]);
    const int32_t column = cell % map->grid.columns, row = cell / map->grid.columns;
    return column >= window.first_column && column <= window.last_column && row >= window.first_row &&
           row <= window.last_row;
}

/* A point on the map, exactly on its boundary, close outside, or far away. */
static void draw_point(const test_map *map, test_rng *rng, double wide_m, double high_m, float *x_m, float *y_m) {
    const float right = map->grid.left_m + map->grid.cell_m * (float)map->grid.columns;
    switch (rng_below(rng, 5)) {
    case 0:
        *x_m = map->segments.count ? map->x_m[rng_below(rng, map->segments.count)] : 0.0f;
        *y_m = map->segments.count ? map->y_m[rng_below(rng, map->segments.count)] : 0.0f;
        break;
    case 1:
        *x_m = rng_below(rng, 2) ? map->grid.left_m : right;
        *y_m = (float)rng_between(rng, -high_m, high_m);
        break;
    case 2:
        *x_m = (float)rng_between(rng, -3000.0, 3000.0);
        *y_m = (float)rng_between(rng, -3000.0, 3000.0);
        break;
    default:
        *x_m = (float)rng_between(rng, -wide_m, wide_m);
        *y_m = (float)rng_between(rng, -high_m, high_m);
    }
}

static void check_window(const test_map *map, int32_t wanted, float limit_m, float x_m, float y_m) {
    const drv_kth_distance kth = drv_grid_kth_distance(&map->grid, map->cell_kth_distance_m, limit_m, x_m, y_m);
    const drv_window window = drv_grid_window(&map->grid, x_m, y_m, kth.upper_m);
    ranked sorted[SEGMENT_CAPACITY];
    for (int32_t i = 0; i < map->segments.count; i++)
        sorted[i] = (ranked){hypotf(map->x_m[i] - x_m, map->y_m[i] - y_m), i};
    qsort(sorted, (size_t)map->segments.count, sizeof *sorted, by_value_then_index);
    CHECK(kth.estimate_m >= 0.0f && kth.estimate_m <= kth.upper_m, "%g, at most %g", (double)kth.estimate_m,
          (double)kth.upper_m);
    for (int32_t i = 0; i < wanted && i < map->segments.count && sorted[i].value <= limit_m; i++) {
        CHECK(in_window(map, window, sorted[i].index), "nearest %d of %d wanted at (%g, %g): %g m away, half side %g m",
              i, wanted, (double)x_m, (double)y_m, (double)sorted[i].value, (double)kth.upper_m);
        CHECK(sorted[i].value <= kth.upper_m, "nearest %d is %g m away, beyond %g m", i, (double)sorted[i].value,
              (double)kth.upper_m);
    }
}

TEST(a_window_holds_the_k_nearest_of_any_point) {
    test_rng rng = {32};
    const int32_t rounds = check_cases(120);
    for (int32_t round = 0; round < rounds; round++) {
        const double wide_m = rng_between(&rng, 0.0, 600.0), high_m = round % 4 ? rng_between(&rng, 0.0, 600.0) : 0.0;
        const int32_t wanted = (const int32_t[]){1, 5, 50, 128, 500}[round % 5];
        const float limit_m = (const float[]){1.0f, 30.0f, 100.0f, 1000.0f}[round % 4];
        test_map map;
        make_map(&map, &rng, rng_below(&rng, SEGMENT_CAPACITY), wide_m, high_m, 1 << 18);
        drv_grid_measure_kth_distances(&map.grid, &map.segments, wanted, limit_m, map.distances,
                                       map.cell_kth_distance_m);
        for (int32_t draw = 0; draw < 100; draw++) {
            float x_m, y_m;
            draw_point(&map, &rng, wide_m, high_m, &x_m, &y_m);
            check_window(&map, wanted, limit_m, x_m, y_m);
        }
        free_map(&map);
    }
}

TEST(a_grid_of_one_cell_holds_everything) {
    test_rng rng = {33};
    for (int32_t count = 0; count < 4; count++) {
        test_map map;
        make_map(&map, &rng, count, 0.0, 0.0, 1 << 18);
        CHECK(map.grid.columns == 1 && map.grid.rows == 1, "%d x %d cells", map.grid.columns, map.grid.rows);
        drv_grid_measure_kth_distances(&map.grid, &map.segments, 2, 100.0f, map.distances, map.cell_kth_distance_m);
        check_window(&map, 2, 100.0f, 0.0f, 0.0f);
        check_window(&map, 2, 100.0f, 99.0f, 0.0f);
        check_window(&map, 2, 100.0f, 1e6f, -1e6f);
        free_map(&map);
    }
}

TEST(with_k_of_0_all_distances_are_0) {
    test_rng rng = {34};
    test_map map;
    make_map(&map, &rng, 50, 100.0, 100.0, 1 << 18);
    drv_grid_measure_kth_distances(&map.grid, &map.segments, 0, 100.0f, map.distances, map.cell_kth_distance_m);
    for (int32_t cell = 0; cell < cell_count(&map); cell++)
        CHECK(map.cell_kth_distance_m[cell] == 0.0f, "cell %d: %g", cell, (double)map.cell_kth_distance_m[cell]);
    free_map(&map);
}

TEST(cells_grow_until_they_are_few_enough) {
    const float sizes[] = {0.0f, 1.0f, 4.9f, 5.0f, 1e3f, 1e5f};
    for (size_t w = 0; w < 6; w++)
        for (size_t h = 0; h < 6; h++) {
            const drv_grid grid = drv_grid_cover(-7.0f, 3.0f, -7.0f + sizes[w], 3.0f + sizes[h], 5.0f, 1 << 18);
            const int64_t cells = (int64_t)grid.columns * grid.rows;
            CHECK(grid.columns >= 1 && grid.rows >= 1 && cells <= 1 << 18, "%d x %d", grid.columns, grid.rows);
            CHECK(grid.cell_m >= 5.0f, "%g", (double)grid.cell_m);
            CHECK((float)grid.columns * grid.cell_m >= sizes[w] && (float)grid.rows * grid.cell_m >= sizes[h],
                  "%d x %d cells of %g m do not cover %g x %g m", grid.columns, grid.rows, (double)grid.cell_m,
                  (double)sizes[w], (double)sizes[h]);
            CHECK((double)sizes[w] * (double)sizes[h] > 1e6 || grid.cell_m == 5.0f, "cells grew to %g m without need",
                  (double)grid.cell_m);
        }
}

TEST(every_finite_point_has_a_cell_of_the_grid) {
    const drv_grid grid = drv_grid_cover(-100.0f, -50.0f, 300.0f, 250.0f, 5.0f, 1 << 18);
    const float coordinates[] = {0.0f, -100.0f, 300.0f, 305.0f, -1e4f, 1e4f, 1e20f, -1e20f, 3e38f, -3e38f};
    for (size_t i = 0; i < 10; i++)
        for (size_t j = 0; j < 10; j++) {
            const int32_t cell = drv_grid_cell(&grid, coordinates[i], coordinates[j]);
            CHECK(cell >= 0 && cell < grid.columns * grid.rows, "(%g, %g) has cell %d", (double)coordinates[i],
                  (double)coordinates[j], cell);
            const drv_window window = drv_grid_window(&grid, coordinates[i], coordinates[j], 20.0f);
            CHECK(window.first_column >= 0 && window.first_column <= window.last_column &&
                  window.last_column < grid.columns && window.first_row >= 0 && window.first_row <= window.last_row &&
                  window.last_row < grid.rows, "(%g, %g)", (double)coordinates[i], (double)coordinates[j]);
        }
}

TEST(a_window_holds_every_middle_within_its_half_side) {
    test_rng rng = {35};
    test_map map;
    make_map(&map, &rng, SEGMENT_CAPACITY, 400.0, 300.0, 1 << 18);
    for (int32_t draw = 0; draw < 3000; draw++) {
        float x_m, y_m;
        draw_point(&map, &rng, 400.0, 300.0, &x_m, &y_m);
        const float half_side_m = (float)rng_between(&rng, 0.0, 60.0);
        const drv_window window = drv_grid_window(&map.grid, x_m, y_m, half_side_m);
        for (int32_t i = 0; i < SEGMENT_CAPACITY; i++)
            if (fabsf(map.x_m[i] - x_m) < half_side_m - 1e-3f && fabsf(map.y_m[i] - y_m) < half_side_m - 1e-3f)
                CHECK(in_window(&map, window, i), "middle %d at (%g, %g) is not in the window of %g m about (%g, %g)",
                      i, (double)map.x_m[i], (double)map.y_m[i], (double)half_side_m, (double)x_m, (double)y_m);
    }
    free_map(&map);
}
