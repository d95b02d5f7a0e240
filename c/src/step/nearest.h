/* Which of a list of points are the k nearest to an agent? */
#ifndef DRV_NEAREST_H
#define DRV_NEAREST_H

#include "math/k_nearest.h"
#include "math/vector.h"
#include "step/height.h"
#include "step/state.h"

/* Points in the scene's frame, followed by at least DRV_WIDTH - 1 entries at an infinite distance. */
typedef struct drv_points {
    const float *x_m, *y_m;
    const float *z_m; /* read where the scene has heights */
    int32_t count;
} drv_points;

/* The number of blocks of DRV_WIDTH points. */
static inline int32_t drv_points_blocks(drv_points points) { return (points.count + DRV_WIDTH - 1) / DRV_WIDTH; }

/* Writes the squared distance of each point from one place to scratch->distance2. */
static inline void drv_points_measure(drv_points points, drv_point from, drv_scratch *scratch) {
    const drv_floats x_m = drv_splat(from.x), y_m = drv_splat(from.y);
    const int32_t end = drv_points_blocks(points) * DRV_WIDTH;
    for (int32_t i = 0; i < end; i += DRV_WIDTH)
        drv_store(scratch->distance2 + i, drv_squared_distances(points.x_m + i, points.y_m + i, x_m, y_m));
}

/* Selects the nearest points on an agent's level and within its view, at most `wanted`, by scratch->distance2. */
static inline drv_selection drv_points_nearest(const drv_world *world, int32_t agent, drv_points points, int32_t wanted,
                                               drv_scratch *scratch) {
    const float view_m = world->config->view_radius_m;
    if (world->scene->has_height) drv_height_exclude(world, agent, points.z_m, points.count, scratch->distance2);
    const drv_candidates candidates = {scratch->distance2, scratch->block_first, drv_points_blocks(points)};
    const drv_bounds bounds = {.high = view_m * view_m};
    const int32_t count = drv_k_nearest(candidates, wanted, bounds, scratch->buffer, scratch->kept);
    return (drv_selection){scratch->kept, count};
}

#endif
