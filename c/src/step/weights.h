/* Which weights do the reward terms of an agent have, where they are drawn? */
#ifndef DRV_STEP_WEIGHTS_H
#define DRV_STEP_WEIGHTS_H

#include "platform/isa.h"
#include "step/state.h"

/* Draws the weights of all agents for the episode in world->episode; no-op where no term has a range. */
DRV_STEP_API void drv_weights_draw(drv_world *world);

/* Writes the weight of each term that has a range, scaled from that range to [-1, 1]. */
DRV_STEP_API void drv_weights_observe(const drv_world *world, int32_t agent, float *out);

#endif
