/* How does a vehicle move? */
#ifndef DRV_DYNAMICS_H
#define DRV_DYNAMICS_H

#include "drive.h"
#include "step/isa.h"

typedef struct drv_motion {
    float x_m, y_m, heading_rad, speed_mps;
} drv_motion;

typedef struct drv_control {
    float acceleration_mps2, steering_rad;
} drv_control;

typedef struct drv_speed_limits {
    float min_mps, max_mps;
} drv_speed_limits;

/* Share of a car's length between its axles: the mean of common passenger cars. */
static const float drv_wheelbase_share = 0.6f;

/* Moves one car by dt_s with its controls held.
 *
 * Kinematic bicycle about the point midway between the axles (Polack et al. 2017): the wheels do not slip, the centre
 * moves along heading + slip with slip = atan(tan(steering) / 2). The new speed holds for the whole step, so one second
 * at 4 m/s2 from rest ends at exactly 4 m/s and a held steering angle drives a regular polygon on one circle. With
 * reverse allowed, a step that would pass through zero ends at rest. */
DRV_STEP_API drv_motion drv_bicycle_advance(drv_motion car, drv_control control, float wheelbase_m, drv_speed_limits limits,
                               float dt_s);

/* Rate of turn of that car at a speed, rad/s. */
DRV_STEP_API float drv_bicycle_yaw_rate(float speed_mps, float steering_rad, float wheelbase_m);

/* The controls that a discrete action stands for; the middle bins are exactly zero. */
DRV_STEP_API drv_control drv_discrete_control(const drv_config *config, int32_t acceleration_bin, int32_t steering_bin);

#endif
