/* How near are other vehicles to an agent? */
#ifndef DRV_PROXIMITY_H
#define DRV_PROXIMITY_H

#include "platform/isa.h"
#include "step/state.h"

/* Collisions are forecast for this time, which is nuPlan's. Where none is forecast, it is the time to collision. */
static const float drv_collision_horizon_s = DRV_COLLISION_HORIZON_S;

/* Sets the time to collision of every agent to the horizon. */
DRV_STEP_API void drv_proximity_begin(drv_world *world);

/* Returns the distance between the box of an agent and the nearest other one, but at most `limit_m`. Needs
 * scratch->on_map of this step. */
DRV_STEP_API float drv_proximity_gap(const drv_world *world, int32_t agent, const drv_scratch *scratch, float limit_m);

#endif
