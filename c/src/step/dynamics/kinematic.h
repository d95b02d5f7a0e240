/* How does a car move whose tyres do not slip? The kinematic bicycle, shared by the models that steer front wheels.
 *
 * About the point midway between the axles (Polack et al. 2017): this centre moves along heading plus sideslip, with
 * sideslip = atan(tan(steering) / 2). The relative curvature of its path, tan(steering) cos(sideslip), is the curvature
 * times the wheelbase: the turn while the centre moves by one wheelbase. */
#ifndef DRV_KINEMATIC_H
#define DRV_KINEMATIC_H

#include <math.h>
#include <stdbool.h>

#include "step/dynamics.h"

/* The sideslip angle, and the tangent of the wheel angle that causes it. */
typedef struct drv_sideslip {
    float cosine, sine, steering_tangent;
} drv_sideslip;

/* tan(sideslip) is half the tangent of the wheel angle, so no arc tangent is needed. */
static inline drv_sideslip drv_sideslip_of_tangent(float steering_tangent) {
    const float half = 0.5f * steering_tangent;
    const float cosine = 1.0f / sqrtf(1.0f + half * half);
    return (drv_sideslip){cosine, half * cosine, steering_tangent};
}

static inline drv_sideslip drv_sideslip_of(float steering_rad) {
    const drv_point wheel = drv_direction(steering_rad);
    return drv_sideslip_of_tangent(wheel.y / wheel.x);
}

/* The motion after a step in which a speed and a wheel angle hold. */
static inline drv_motion drv_kinematic_advance(drv_motion car, float speed_mps, drv_sideslip sideslip,
                                               float wheelbase_m, float dt_s) {
    const drv_point ahead = drv_direction(car.heading_rad);
    const float path_m = speed_mps * dt_s;
    return (drv_motion){
        car.x_m + path_m * (ahead.x * sideslip.cosine - ahead.y * sideslip.sine),
        car.y_m + path_m * (ahead.y * sideslip.cosine + ahead.x * sideslip.sine),
        drv_wrap_angle(car.heading_rad + path_m * sideslip.cosine * sideslip.steering_tangent / wheelbase_m),
        speed_mps,
    };
}

static inline float drv_kinematic_yaw_rate(float speed_mps, drv_sideslip sideslip, float wheelbase_m) {
    return speed_mps * sideslip.cosine * sideslip.steering_tangent / wheelbase_m;
}

/* The speed at the end of a step with a held acceleration; 0 where it would pass through zero. */
static inline float drv_next_speed(float speed_mps, float acceleration_mps2, drv_motion_limits limits, float dt_s) {
    const float speed = speed_mps + acceleration_mps2 * dt_s;
    const bool passes_zero = ((speed_mps > 0.0f) & (speed < 0.0f)) | ((speed_mps < 0.0f) & (speed > 0.0f));
    return passes_zero ? 0.0f : drv_clip(speed, limits.min_mps, limits.max_mps);
}

/* The tangent of the wheel angle of a relative curvature, whose magnitude is below 2. */
static inline float drv_steering_tangent_of(float relative_curvature) {
    return relative_curvature / sqrtf(1.0f - 0.25f * relative_curvature * relative_curvature);
}

/* Controls of a step from one motion to the next. */
typedef struct drv_kinematic_controls {
    float acceleration_mps2, steering_rad;
    uint8_t fit;
} drv_kinematic_controls;

/* The inverse of drv_kinematic_advance: speed and heading determine acceleration and wheel angle; positions are not
 * read. */
static inline drv_kinematic_controls drv_kinematic_inverse(float speed_mps, float turn_rad, float logged_mps,
                                                           float wheelbase_m, drv_motion_limits limits, float dt_s) {
    const float next_mps = drv_reachable_mps(limits, speed_mps, logged_mps, dt_s);
    const bool slow = fabsf(next_mps) < drv_turn_observable_mps;
    const float curvature = slow ? 0.0f : turn_rad * wheelbase_m / (next_mps * dt_s); /* relative */
    const bool reachable = fabsf(curvature) < 2.0f; /* 2 is its limit as the wheel angle tends to 90 degrees */
    const float steering_rad =
        reachable ? drv_arc_tangent(drv_steering_tangent_of(curvature)) : copysignf(0.5f * drv_pi, curvature);
    const bool clipped = (next_mps != logged_mps) | (fabsf(steering_rad) > limits.steering_rad);
    return (drv_kinematic_controls){(next_mps - speed_mps) / dt_s, steering_rad,
                                    (uint8_t)((slow ? DRV_INVERSE_SLOW : 0) | (clipped ? DRV_INVERSE_CLIPPED : 0))};
}

#endif
