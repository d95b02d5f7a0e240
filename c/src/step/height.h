/* What is on another level than an agent? What differs in height by more than the vertical clearance. All functions but
 * drv_is_apart need a scene with heights. */
#ifndef DRV_HEIGHT_H
#define DRV_HEIGHT_H

#include <math.h>
#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

static inline bool drv_differs_in_level(const drv_world *world, float z_m, float other_z_m) {
    return fabsf(z_m - other_z_m) > world->config->vertical_clearance_m;
}

/* Whether two vehicles are on different levels; false in a scene without heights. */
static inline bool drv_is_apart(const drv_world *world, int32_t vehicle, int32_t other) {
    return world->scene->has_height && drv_differs_in_level(world, world->z_m[vehicle], world->z_m[other]);
}

/* Of `count` candidates, sets the squared distances of those on another level than an agent to infinity. Not inlined,
 * so that searches in scenes without heights keep their registers. */
DRV_STEP_API void drv_height_exclude(const drv_world *world, int32_t agent, const float *z_m, int32_t count,
                                     float *distance2) __attribute__((noinline));

#endif
