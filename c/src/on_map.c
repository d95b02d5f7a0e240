/* Who is on the map? */
#include "on_map.h"

#include <math.h>

#include "vector.h"

void drv_on_map_list(const drv_world *world, drv_scratch *scratch) {
    const int32_t all = world->scene->vehicle_count;
    const uint8_t *present = world->present;
    drv_on_map *listed = &scratch->on_map;
    int32_t count = 0;
    for (int32_t first = 0; first < all; first += DRV_WIDTH) {
        uint32_t bits = 0;
        for (int32_t i = 0; i < DRV_WIDTH && first + i < all; i++) bits |= (uint32_t)present[first + i] << i;
        drv_append(listed->x_m + count, (drv_ints)drv_load(world->x_m + first), bits);
        drv_append(listed->y_m + count, (drv_ints)drv_load(world->y_m + first), bits);
        count += drv_append(listed->vehicle + count, drv_count_up(first), bits);
    }
    for (int32_t i = count; i < count + DRV_LANES; i++) listed->x_m[i] = listed->y_m[i] = INFINITY;
    listed->count = count;
    for (int32_t row = 0, place = 0; row < world->scene->row_count; row++) { /* rows are the first vehicles */
        listed->place[row] = place;
        place += present[row];
    }
}
