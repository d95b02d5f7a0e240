/* How does a car move that steers its front wheels without slip? DRV_BICYCLE. */
#ifndef DRV_BICYCLE_H
#define DRV_BICYCLE_H

#include "step/dynamics.h"

/* drv_dynamics_model.advance.
 *
 * Kinematic bicycle about the point midway between the axles (Polack et al. 2017): the wheels do not slip, the centre
 * moves along heading + slip with slip = atan(tan(steering) / 2). The new speed holds for the whole step, so one second
 * at 4 m/s2 from rest ends at exactly 4 m/s and a held steering angle drives a regular polygon on one circle. With
 * reverse allowed, a step that would pass through zero ends at rest. */
DRV_STEP_API void drv_bicycle_advance(drv_motion_block *cars, drv_speed_limits limits, float dt_s);

/* drv_dynamics_model.inverse. Speed and heading determine the two controls; the positions are not read. */
DRV_STEP_API void drv_bicycle_inverse(drv_motion_block *cars, const drv_motion_block *next, float dt_s,
                                      drv_inverse_fit *fit);

#endif
