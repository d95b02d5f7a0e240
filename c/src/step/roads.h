/* Which road segments does an agent see? */
#ifndef DRV_ROADS_H
#define DRV_ROADS_H

#include "step/isa.h"
#include "math/k_nearest.h"
#include "step/state.h"

/* Finds the small cells that all agents of a world are in, to scratch->cell. */
DRV_STEP_API void drv_roads_locate(const drv_world *world, drv_scratch *scratch);

/* Asks the cache for what a choice for this agent will read, if there is such an agent; it was located. */
DRV_STEP_API void drv_roads_expect(const drv_world *world, int32_t agent, const drv_scratch *scratch);

/* What the agent sees, which was located; good until the next search with this scratch. */
DRV_STEP_API drv_selection drv_roads_choose(const drv_world *world, int32_t agent, drv_scratch *scratch);

#endif
