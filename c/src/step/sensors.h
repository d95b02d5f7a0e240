/* What do the sensors of an agent miss, and by how much are they off? */
#ifndef DRV_STEP_SENSORS_H
#define DRV_STEP_SENSORS_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Adds the errors of sensors to the sets of an observation vector and to its ego features, which are scaled already.
 * Not inlined, so that observations without errors take no more time. */
DRV_STEP_API void drv_sensors_degrade(const drv_world *world, int32_t agent, float *observation)
    __attribute__((noinline));

/* Whether the record that was selected for a slot of a set is dropped. */
DRV_STEP_API bool drv_sensors_drop(const drv_world *world, int32_t agent, int32_t index, int32_t slot);

/* The same as drv_sensors_degrade for an index observation, whose slots have no noise. */
DRV_STEP_API void drv_sensors_degrade_indices(const drv_world *world, int32_t agent, uint8_t *observation)
    __attribute__((noinline));

#endif
