/* Who is on the map? */
#ifndef DRV_ON_MAP_H
#define DRV_ON_MAP_H

#include "step/isa.h"
#include "step/state.h"

/* Lists the vehicles that are on the map, in ascending order, and where they are, to scratch->on_map. Of a log's
 * vehicles most have not come yet or have gone again, so whoever asks each agent about all others looks at these. Behind
 * the last one are DRV_SIMD_PAD places infinitely far away. */
DRV_STEP_API void drv_on_map_list(const drv_world *world, drv_scratch *scratch);

#endif
