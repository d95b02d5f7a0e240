/* Which vehicles are on the map? */
#ifndef DRV_ON_MAP_H
#define DRV_ON_MAP_H

#include "platform/isa.h"
#include "step/state.h"

/* Writes the vehicles on the map, in ascending order, and their positions to scratch->on_map, followed by DRV_SIMD_PAD
 * entries at an infinite distance. Most vehicles of a log are off the map in any one frame, so loops over pairs of
 * vehicles use this list. */
DRV_STEP_API void drv_on_map_list(const drv_world *world, drv_scratch *scratch);

#endif
