/* How does a car move whose front wheels follow the commanded angle at a bounded rate? DRV_CLASSIC.
 *
 * The model that PufferDrive calls classic: the kinematic bicycle of kinematic.h, with the wheel angle as a
 * state. */
#include "step/dynamics/kinematic.h"

void drv_classic_advance(drv_motion_block *cars, drv_motion_limits limits, float dt_s) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion before = drv_motion_at(cars, i);
        const float steering_rad = drv_steering_after(cars->steering_rad[i], cars->control[1][i], limits, dt_s);
        const drv_sideslip sideslip = drv_sideslip_of(steering_rad);
        const float speed_mps = drv_clip(before.speed_mps + cars->control[0][i] * dt_s, limits.min_mps, limits.max_mps);
        drv_motion_store(cars, i, drv_kinematic_advance(before, speed_mps, sideslip, cars->wheelbase_m[i], dt_s), dt_s);
        cars->steering_rad[i] = steering_rad;
        cars->yaw_rate_radps[i] = drv_kinematic_yaw_rate(speed_mps, sideslip, cars->wheelbase_m[i]);
    }
}

void drv_classic_inverse(drv_motion_block *cars, const drv_motion_block *next, drv_motion_limits limits, float dt_s,
                         uint8_t *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i]);
        const drv_kinematic_controls found =
            drv_kinematic_inverse(cars->speed_mps[i], turn_rad, next->speed_mps[i], cars->wheelbase_m[i], limits, dt_s);
        /* The wheels do not reach the angle within the step; the factor tolerates rounding. */
        const bool late = fabsf(found.steering_rad - cars->steering_rad[i]) > drv_steering_radps * dt_s * 1.00001f;
        cars->control[0][i] = found.acceleration_mps2;
        cars->control[1][i] = found.steering_rad;
        fit[i] = (uint8_t)(found.fit | (late && !(found.fit & DRV_INVERSE_SLOW) ? DRV_INVERSE_CLIPPED : 0));
    }
}
