/* Which agents are blind, or brake whatever their action is? */
#ifndef DRV_DISTURBANCES_H
#define DRV_DISTURBANCES_H

#include "step/dynamics.h"
#include "step/phases.h"

/* Whether a disturbance is on in the step that is being taken. */
static inline bool drv_is_disturbed(const drv_world *world, int32_t agent) {
    return world->blind_steps[agent] > 0 || world->braking_steps[agent] > 0;
}

/* Ends all disturbances at the start of a trial, and draws those of its first step. */
DRV_STEP_API void drv_disturbances_begin(drv_world *world, drv_scratch *scratch);

/* Replaces the control of an agent that brakes, entry i of the block: full braking until it stands, with the wheels as
 * they are; in DRV_JERK with a lateral jerk of 0. */
DRV_STEP_API void drv_disturbances_apply(const drv_world *world, int32_t agent, drv_motion_block *block, int32_t i);

#endif
