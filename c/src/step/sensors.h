/* What do the sensors of an agent miss, and by how much are they off? */
#ifndef DRV_STEP_SENSORS_H
#define DRV_STEP_SENSORS_H

#include "platform/isa.h"
#include "step/state.h"

/* Adds the errors of sensors to the sets of an observation vector and to its ego features, which are scaled already.
 * Not inlined, so that observations without errors take no more time. */
DRV_STEP_API void drv_sensors_degrade(const drv_world *world, int32_t agent, float *observation)
    __attribute__((noinline));

/* The same for an index observation, whose slots have no noise. */
DRV_STEP_API void drv_sensors_degrade_indices(const drv_world *world, int32_t agent, uint8_t *observation)
    __attribute__((noinline));

#endif
