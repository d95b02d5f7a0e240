/* Which road segments does an agent observe? */
#ifndef DRV_ROADS_H
#define DRV_ROADS_H

#include "math/k_nearest.h"
#include "platform/isa.h"
#include "step/state.h"

/* Writes the sub-cell of every agent of a world to scratch->sub_cell. */
DRV_STEP_API void drv_roads_locate(const drv_world *world, drv_scratch *scratch);

/* Prefetches the list of a located agent's sub-cell; no-op past the last agent. */
DRV_STEP_API void drv_roads_prefetch(const drv_world *world, int32_t agent, const drv_scratch *scratch);

/* Returns the segments that a located agent observes, valid until the next search with this scratch. */
DRV_STEP_API drv_selection drv_roads_choose(const drv_world *world, int32_t agent, drv_scratch *scratch);

#endif
