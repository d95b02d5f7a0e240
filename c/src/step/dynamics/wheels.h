/* How does a car move whose wheels do not slip? Shared by the models that steer front wheels.
 *
 * Kinematic bicycle about the point midway between the axles (Polack et al. 2017): the centre moves along heading plus
 * slip, with slip = atan(tan(steering) / 2). */
#ifndef DRV_WHEELS_H
#define DRV_WHEELS_H

#include <math.h>
#include <stdbool.h>

#include "step/dynamics.h"

typedef struct drv_slip_angle {
    float cosine, sine, steering_tangent;
} drv_slip_angle;

/* slip = atan(tan(steering) / 2), as cosine and sine: no arc tangent is needed. */
static inline drv_slip_angle drv_slip_of_tangent(float tangent) {
    const float half = 0.5f * tangent;
    const float cosine = 1.0f / sqrtf(1.0f + half * half);
    return (drv_slip_angle){cosine, half * cosine, tangent};
}

static inline drv_slip_angle drv_slip_of(float steering_rad) {
    const drv_point wheel = drv_direction(steering_rad);
    return drv_slip_of_tangent(wheel.y / wheel.x);
}

/* The motion after a step in which a speed and a wheel angle hold. */
static inline drv_motion drv_roll(drv_motion car, float speed_mps, drv_slip_angle slip, float wheelbase_m, float dt_s) {
    const drv_point ahead = drv_direction(car.heading_rad);
    const float path_m = speed_mps * dt_s;
    return (drv_motion){
        car.x_m + path_m * (ahead.x * slip.cosine - ahead.y * slip.sine),
        car.y_m + path_m * (ahead.y * slip.cosine + ahead.x * slip.sine),
        drv_wrap_angle(car.heading_rad + path_m * slip.cosine * slip.steering_tangent / wheelbase_m),
        speed_mps,
    };
}

static inline float drv_roll_yaw_rate(float speed_mps, drv_slip_angle slip, float wheelbase_m) {
    return speed_mps * slip.cosine * slip.steering_tangent / wheelbase_m;
}

/* The speed at the end of a step with a held acceleration; 0 where it would pass through zero. */
static inline float drv_next_speed(float speed_mps, float acceleration_mps2, drv_motion_limits limits, float dt_s) {
    const float speed = speed_mps + acceleration_mps2 * dt_s;
    const bool passes_zero = ((speed_mps > 0.0f) & (speed < 0.0f)) | ((speed_mps < 0.0f) & (speed > 0.0f));
    return passes_zero ? 0.0f : drv_clip(speed, limits.min_mps, limits.max_mps);
}

/* The tangent of the wheel angle that turns by `bend` per wheelbase driven, |bend| < 2: tan(steering) cos(slip). */
static inline float drv_tangent_of_bend(float bend) { return bend / sqrtf(1.0f - 0.25f * bend * bend); }

/* Controls of a step from one motion to the next. */
typedef struct drv_roll_inverse {
    float acceleration_mps2, steering_rad;
    uint8_t fit;
} drv_roll_inverse;

/* The inverse of drv_roll: speed and heading determine acceleration and wheel angle; positions are not read. */
static inline drv_roll_inverse drv_unroll(float speed_mps, float turn_rad, float logged_mps, float wheelbase_m,
                                          drv_motion_limits limits, float dt_s) {
    const float next_mps = drv_reachable_mps(limits, speed_mps, logged_mps, dt_s);
    const bool slow = fabsf(next_mps) < drv_steers_from_mps;
    /* tan(steering) * cos(slip), which tends to 2 as the wheel angle tends to 90 degrees. */
    const float bend = slow ? 0.0f : turn_rad * wheelbase_m / (next_mps * dt_s);
    const bool reachable = fabsf(bend) < 2.0f;
    const float steering_rad = reachable ? drv_arc_tangent(drv_tangent_of_bend(bend)) : copysignf(0.5f * drv_pi, bend);
    const bool clipped = (next_mps != logged_mps) | (fabsf(steering_rad) > limits.steering_rad);
    return (drv_roll_inverse){(next_mps - speed_mps) / dt_s, steering_rad,
                              (uint8_t)((slow ? DRV_INVERSE_SLOW : 0) | (clipped ? DRV_INVERSE_CLIPPED : 0))};
}

#endif
