/* Which hidden values does the vehicle of an agent have, and what do they change? */
#ifndef DRV_STEP_HIDDEN_H
#define DRV_STEP_HIDDEN_H

#include "platform/isa.h"
#include "step/state.h"

/* Draws the hidden values of a world at the start of a trial. With a delay, actions of 0 take effect until the first
 * ones of the trial do. */
DRV_STEP_API void drv_hidden_begin(drv_world *world);

/* The same for an agent that has appeared at another start, whose values stay. */
DRV_STEP_API void drv_hidden_place(drv_world *world, int32_t agent);

/* Turns the commanded control of an agent, entry `i` of a block, into the one that its vehicle follows. */
DRV_STEP_API void drv_hidden_apply(drv_world *world, int32_t agent, drv_motion_block *block, int32_t i);

/* The factor of the distance between the axles of an agent's vehicle. */
static inline float drv_hidden_wheelbase(const drv_world *world, int32_t agent) {
    return world->sizes.has_hidden ? world->hidden[agent * DRV_HIDDEN_COUNT + DRV_HIDDEN_WHEELBASE] : 1.0f;
}

/* Writes the position of each value in its range, from -1 to 1; 0 of those that do not vary. Not inlined: its caller
 * would be slower where it is not called. */
DRV_STEP_API void drv_hidden_reveal(const drv_world *world, int32_t agent, float *out) __attribute__((noinline));

#endif
