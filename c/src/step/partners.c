/* Which vehicles does an agent observe? */
#include "step/partners.h"

#include <math.h>

#include "step/nearest.h"

drv_selection drv_partners_choose(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const drv_on_map *on_map = &scratch->on_map;
    const drv_points vehicles = {on_map->x_m, on_map->y_m, on_map->z_m, on_map->count};
    const int32_t own = on_map->index[agent];
    drv_points_measure(vehicles, (drv_point){on_map->x_m[own], on_map->y_m[own]}, scratch);
    scratch->distance2[own] = INFINITY;
    return drv_points_nearest(world, agent, vehicles, world->config->partners, scratch);
}
