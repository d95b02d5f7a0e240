/* How does a car move that steers its front wheels without slip? DRV_BICYCLE. */
#ifndef DRV_BICYCLE_H
#define DRV_BICYCLE_H

#include "step/dynamics.h"

/* Moves one car by dt_s with its controls held.
 *
 * Kinematic bicycle about the point midway between the axles (Polack et al. 2017): the wheels do not slip, the centre
 * moves along heading + slip with slip = atan(tan(steering) / 2). The new speed holds for the whole step, so one second
 * at 4 m/s2 from rest ends at exactly 4 m/s and a held steering angle drives a regular polygon on one circle. With
 * reverse allowed, a step that would pass through zero ends at rest. */
DRV_STEP_API drv_motion drv_bicycle_advance(drv_motion car, drv_control control, float wheelbase_m,
                                            drv_speed_limits limits, float dt_s);

/* Yaw rate of that car at a speed, rad/s. */
DRV_STEP_API float drv_bicycle_yaw_rate(float speed_mps, float steering_rad, float wheelbase_m);

/* drv_dynamics_model.advance: the same for a block of cars. */
DRV_STEP_API void drv_bicycle_advance_block(drv_motion_block *cars, drv_speed_limits limits, float dt_s);

#endif
