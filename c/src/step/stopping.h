/* At which stop line does a rule-based vehicle have to stop? At that of a red light, at yellow if it can brake for it,
 * and at that of a stop sign until it has stood there. */
#ifndef DRV_STOPPING_H
#define DRV_STOPPING_H

#include "platform/isa.h"
#include "step/state.h"

static const float drv_stop_speed_mps = DRV_STOP_CMPS / 100.0f, drv_stop_zone_m = DRV_STOP_ZONE_M;

/* Deceleration beyond which a vehicle goes on at yellow. */
static const float drv_yellow_braking_mps2 = 3.0f;

/* Whether a vehicle that brakes with `hardest_mps2` at most has to stop for a light this far ahead. One that cannot
 * stop goes on. */
static inline bool drv_light_holds(uint8_t state, float hardest_mps2, float speed_mps, float gap_m) {
    if (state != DRV_LIGHT_RED && state != DRV_LIGHT_YELLOW) return false;
    const float braking_mps2 =
        state == DRV_LIGHT_RED ? hardest_mps2 : drv_smaller(drv_yellow_braking_mps2, hardest_mps2);
    return speed_mps * speed_mps < 2.0f * braking_mps2 * gap_m;
}

/* Whether lights and signs have an effect on the agents of a world. */
static inline bool drv_has_traffic_controls(const drv_world *world) { return world->sizes.control_agents > 0; }

/* Whether lights and signs have an effect on the rule-based vehicles of a world. */
static inline bool drv_has_stop_lines(const drv_world *world) {
    return world->sizes.controlled_vehicles > 0 && world->scene->stop_lines.count > 0;
}

/* Returns the arc length along a path at which its vehicle has to stop in this step; INFINITY if it need not. */
static inline float drv_stop_m(const drv_world *world, const drv_scratch *scratch, int32_t path) {
    return drv_has_stop_lines(world) ? scratch->stop_m[path] : INFINITY;
}

/* Writes scratch->stop_m for the step that begins, and how long each vehicle has stood before a stop sign. */
DRV_STEP_API void drv_stopping_update(drv_world *world, drv_scratch *scratch);

#endif
