/* Which vehicles does an agent observe? */
#ifndef DRV_PARTNERS_H
#define DRV_PARTNERS_H

#include "math/k_nearest.h"
#include "platform/isa.h"
#include "step/state.h"

/* Selects the k nearest vehicles of an agent on the map, as indices in scratch->on_map, which must be listed. */
DRV_STEP_API drv_selection drv_partners_choose(const drv_world *world, int32_t agent, drv_scratch *scratch);

#endif
