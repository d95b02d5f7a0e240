/* How far is each agent along its route? Valid after drv_measures_take, where a term or a critic uses it. */
#ifndef DRV_ROUTE_PROGRESS_H
#define DRV_ROUTE_PROGRESS_H

#include "platform/isa.h"
#include "step/state.h"

/* Puts every agent at the beginning of the route to its goal. */
DRV_STEP_API void drv_route_progress_begin(drv_world *world);

/* Measures how far each driving agent came along its route in the step. */
DRV_STEP_API void drv_route_progress_take(drv_world *world);

/* The length of the agent's route that is left to its goal; the straight distance where no route leads there, and, with
 * on_goal DRV_NEXT, to goals after the first one; 0 while the agent has no goal. */
DRV_STEP_API float drv_route_left_m(const drv_world *world, int32_t agent);

#endif
