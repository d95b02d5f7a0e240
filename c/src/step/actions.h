/* Is an action in range, and for which control does it stand? */
#ifndef DRV_ACTIONS_H
#define DRV_ACTIONS_H

#include "step/state.h"
#include "view/action_space.h"

/* Whether the actions of the first `agents` agents are all in range, those of agents that do not drive included. */
DRV_STEP_API bool drv_actions_in_range(drv_actions actions, const drv_action_space *space, int64_t agents);
/* Checks the actions of the driving agents of a world; the message names the first bad one. */
DRV_STEP_API drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message);
/* Writes the control that the action of an agent stands for, value k to control[k * stride]; an agent is counted from
 * the first of `actions`. */
DRV_STEP_API void drv_actions_control(drv_actions actions, const drv_action_space *space, int64_t agent, float *control,
                                      int64_t stride);
/* Writes the action whose control is nearest to the given one, which is stored in the same way. */
DRV_STEP_API void drv_actions_write(drv_actions actions, const drv_action_space *space, int64_t agent,
                                    const float *control, int64_t stride);

#endif
