/* How does a car move whose tyre forces are limited by friction? DRV_GRIP.
 *
 * The kinematic bicycle of kinematic.h inside a friction circle: acceleration is limited to friction * g, and what it
 * leaves of the circle limits the lateral acceleration, speed^2 * curvature, at the speed before the step. Beyond that
 * the car turns as with a smaller wheel angle; the reported angle is the commanded one. */
#include "step/dynamics/kinematic.h"

static const float gravity_mps2 = 9.81f;

/* Below this speed no wheel angle of a car exceeds the grip of a dry road. */
static const float grip_from_mps = 1.0f;

/* The acceleration within the friction circle. */
static inline float grip_acceleration(float acceleration_mps2, float friction) {
    const float most_mps2 = friction * gravity_mps2;
    return drv_clip(acceleration_mps2, -most_mps2, most_mps2);
}

/* The largest relative curvature that an acceleration leaves within the friction circle. */
static inline float grip_curvature(float speed_mps, float acceleration_mps2, float wheelbase_m,
                                   float friction) {
    const float most_mps2 = friction * gravity_mps2;
    const float lateral2 = most_mps2 * most_mps2 - acceleration_mps2 * acceleration_mps2;
    const float lateral_mps2 = sqrtf(drv_larger(lateral2, 0.0f));
    const float speed = drv_larger(fabsf(speed_mps), grip_from_mps);
    return lateral_mps2 / (speed * speed) * wheelbase_m;
}

void drv_grip_advance(drv_motion_block *cars, drv_motion_limits limits, float dt_s) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion before = drv_motion_at(cars, i);
        const float acceleration_mps2 = grip_acceleration(cars->control[0][i], cars->friction[i]);
        const drv_sideslip wanted = drv_sideslip_of(cars->control[1][i]);
        const float curvature = wanted.cosine * wanted.steering_tangent; /* relative */
        const float most = grip_curvature(before.speed_mps, acceleration_mps2, cars->wheelbase_m[i], cars->friction[i]);
        /* |curvature| is below 2, and so is `held` where it is used. */
        const float held = drv_clip(curvature, -most, most);
        const bool slides = fabsf(curvature) > most;
        const float tangent = slides ? drv_steering_tangent_of(held) : wanted.steering_tangent;
        const drv_sideslip sideslip = drv_sideslip_of_tangent(tangent);
        const float speed_mps = drv_next_speed(before.speed_mps, acceleration_mps2, limits, dt_s);
        drv_motion_store(cars, i, drv_kinematic_advance(before, speed_mps, sideslip, cars->wheelbase_m[i], dt_s), dt_s);
        cars->steering_rad[i] = cars->control[1][i];
        cars->yaw_rate_radps[i] = drv_kinematic_yaw_rate(speed_mps, sideslip, cars->wheelbase_m[i]);
    }
}

void drv_grip_inverse(drv_motion_block *cars, const drv_motion_block *next, drv_motion_limits limits, float dt_s,
                      uint8_t *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        drv_motion_limits held = limits;
        held.acceleration_mps2 = drv_smaller(limits.acceleration_mps2, cars->friction[i] * gravity_mps2);
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i]);
        const drv_kinematic_controls found =
            drv_kinematic_inverse(cars->speed_mps[i], turn_rad, next->speed_mps[i], cars->wheelbase_m[i], held, dt_s);
        const float steering_rad = drv_clip(found.steering_rad, -limits.steering_rad, limits.steering_rad);
        const drv_sideslip wanted = drv_sideslip_of(steering_rad);
        const float most =
            grip_curvature(cars->speed_mps[i], found.acceleration_mps2, cars->wheelbase_m[i], cars->friction[i]);
        const bool slides = fabsf(wanted.cosine * wanted.steering_tangent) > most;
        cars->control[0][i] = found.acceleration_mps2;
        cars->control[1][i] = found.steering_rad;
        fit[i] = (uint8_t)(found.fit | (slides ? DRV_INVERSE_CLIPPED : 0));
    }
}
