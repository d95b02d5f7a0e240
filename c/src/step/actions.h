/* Is an action in range, and which control does it stand for? */
#ifndef DRV_ACTIONS_H
#define DRV_ACTIONS_H

#include "step/state.h"

/* Whether the actions of the first `agents` agents are all in range, also of those that do not drive. */
DRV_STEP_API bool drv_actions_fit(drv_actions actions, int32_t action_type, int64_t agents);
/* Checks the actions of the driving agents of a world; the message names the first bad one. */
DRV_STEP_API drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message);
/* The controls that the action of a driving agent stands for. */
DRV_STEP_API drv_control drv_actions_control(const drv_world *world, int32_t agent);
/* The controls of a pair of bins; the middle bins are exactly zero. */
DRV_STEP_API drv_control drv_discrete_control(const drv_config *config, int32_t acceleration_bin, int32_t steering_bin);

#endif
