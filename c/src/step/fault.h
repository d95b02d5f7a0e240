/* Is a collision the agent's fault? By two published rules, for the metrics. */
#ifndef DRV_FAULT_H
#define DRV_FAULT_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Both judge a collision of an agent with a vehicle that began in this step, and need the facts of lanes.
 *
 * The rule of behavior-bench (arXiv 2605.10034), by the bearing of the vehicle. */
DRV_STEP_API bool drv_fault_by_bearing(const drv_world *world, int32_t agent, int32_t vehicle);
/* The rule of nuPlan (no_ego_at_fault_collisions), by the front bumper of the agent. */
DRV_STEP_API bool drv_fault_by_bumper(const drv_world *world, int32_t agent, int32_t vehicle);

#endif
