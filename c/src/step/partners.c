/* Which vehicles does an agent observe? */
#include "step/partners.h"

#include <math.h>

#include "math/geometry.h"
#include "step/height.h"

drv_selection drv_partners_choose(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const drv_config *config = world->config;
    const drv_on_map *on_map = &scratch->on_map;
    const int32_t own = on_map->index[agent];
    const int32_t blocks = (on_map->count + DRV_WIDTH - 1) / DRV_WIDTH;
    const drv_floats x_m = drv_splat(on_map->x_m[own]), y_m = drv_splat(on_map->y_m[own]);
    float *distance2 = scratch->distance2;
    for (int32_t i = 0; i < blocks * DRV_WIDTH; i += DRV_WIDTH)
        drv_store(distance2 + i, drv_squared_distances(on_map->x_m + i, on_map->y_m + i, x_m, y_m));
    distance2[own] = INFINITY;
    if (world->scene->has_height) drv_height_exclude(world, agent, on_map->z_m, on_map->count, distance2);
    const drv_candidates vehicles = {distance2, scratch->block_first, blocks};
    const drv_bounds bounds = {.high = config->view_radius_m * config->view_radius_m};
    const int32_t count = drv_k_nearest(vehicles, config->partners, bounds, scratch->buffer, scratch->kept);
    return (drv_selection){scratch->kept, count};
}
