/* How far is each agent along its route? Valid after drv_measures_take, where a term or a critic uses it. */
#ifndef DRV_ROUTE_PROGRESS_H
#define DRV_ROUTE_PROGRESS_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Puts every agent at the beginning of the route to its goal. */
DRV_STEP_API void drv_route_progress_begin(drv_world *world);

/* Measures how far each driving agent came along its route in the step. */
DRV_STEP_API void drv_route_progress_take(drv_world *world);

/* The length of the agent's route that is left to its goal; the straight distance where no route leads there, and, with
 * on_goal DRV_NEXT, to goals after the first one; 0 while the agent has no goal. */
DRV_STEP_API float drv_route_left_m(const drv_world *world, int32_t agent);

/* The point of the agent's route that is `ahead_m` along it from the agent's place, and the unit vector of the route
 * there. False beyond the end of the route, and where the agent has none: no lanes lead to its goal, it has no goal, or
 * its goal is, with on_goal DRV_NEXT, one after the first. */
DRV_STEP_API bool drv_route_ahead(const drv_world *world, int32_t agent, float ahead_m, drv_point *at,
                                  drv_point *along);

#endif
