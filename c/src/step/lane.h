/* Which lane is an agent on, and how does it drive there? Valid after drv_lane_locate, where a world has facts of
 * lanes. */
#ifndef DRV_LANE_H
#define DRV_LANE_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Farther from every centre line than this, an agent or goal is on no lane: more than a lane width, so that an agent
 * beside the outermost lane still has it. */
static const float drv_lane_reach_m = DRV_LANE_REACH_M;

/* Sets the facts of every agent to those without a lane. */
DRV_STEP_API void drv_lane_begin(drv_world *world);

/* The speed by which the agent exceeds the limit of its lane; 0 without a lane or a known limit. */
DRV_STEP_API float drv_lane_over_speed(const drv_world *world, int32_t agent);

/* Whether the box of the agent crosses a border of its lane; false without a lane. */
DRV_STEP_API bool drv_lane_border_crossed(const drv_world *world, int32_t agent);

#endif
