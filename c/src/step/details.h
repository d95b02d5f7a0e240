/* What do the detailed metrics need of a trial? */
#ifndef DRV_DETAILS_H
#define DRV_DETAILS_H

#include "platform/isa.h"
#include "step/state.h"

/* Sets the counts and extremes of every agent to those of a trial without steps. */
DRV_STEP_API void drv_details_begin(drv_world *world);

/* The distance of an agent to its goal. */
DRV_STEP_API float drv_details_to_goal(const drv_world *world, int32_t agent);

/* The share of the distance to the goal that an agent has covered at a distance of `left_m`; 1 once it was reached. For
 * an agent with a list of goals that ends, the mean of the shares of all of them. */
DRV_STEP_API float drv_details_progress(const drv_world *world, int32_t agent, float left_m);

/* Measures the distance to the next goal of a list from where the agent has reached the one before. */
DRV_STEP_API void drv_details_advance(drv_world *world, int32_t agent);

#endif
