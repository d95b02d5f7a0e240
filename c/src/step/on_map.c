/* Which vehicles are on the map? */
#include "step/on_map.h"

#include <math.h>

#include "math/vector.h"

void drv_on_map_list(const drv_world *world, drv_scratch *scratch) {
    const int32_t all = world->scene->vehicle_count;
    const uint8_t *present = world->present;
    drv_on_map *listed = &scratch->on_map;
    int32_t count = 0;
    for (int32_t first = 0; first < all; first += DRV_WIDTH) {
        uint32_t bits = 0;
        for (int32_t i = 0; i < DRV_WIDTH && first + i < all; i++) bits |= (uint32_t)present[first + i] << i;
        drv_compress_store(listed->x_m + count, (drv_ints)drv_load(world->x_m + first), bits);
        drv_compress_store(listed->y_m + count, (drv_ints)drv_load(world->y_m + first), bits);
        count += drv_compress_store(listed->vehicle + count, drv_iota(first), bits);
    }
    for (int32_t i = count; i < count + DRV_SIMD_PAD; i++) listed->x_m[i] = listed->y_m[i] = INFINITY;
    listed->count = count;
    if (world->scene->has_height)
        for (int32_t i = 0; i < count; i++) listed->z_m[i] = world->z_m[listed->vehicle[i]];
    for (int32_t agent = 0, index = 0; agent < world->scene->num_agents; agent++) { /* agents are the first vehicles */
        listed->index[agent] = index;
        index += present[agent];
    }
}
