/* How does a car move whose front wheels take the commanded angle at once? DRV_BICYCLE.
 *
 * The kinematic bicycle of kinematic.h. The new speed holds for the whole step, so one second at 4 m/s2 from rest ends
 * at exactly 4 m/s, and the path at a held wheel angle and speed is a polygon inscribed in a circle. With reverse
 * allowed, a step that would pass through zero ends at rest. */
#include "step/dynamics/kinematic.h"

void drv_bicycle_advance(drv_motion_block *cars, drv_motion_limits limits, float dt_s) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion before = drv_motion_at(cars, i);
        const float acceleration_mps2 = cars->control[0][i], steering_rad = cars->control[1][i];
        const drv_sideslip sideslip = drv_sideslip_of(steering_rad);
        const float speed_mps = drv_next_speed(before.speed_mps, acceleration_mps2, limits, dt_s);
        drv_motion_store(cars, i, drv_kinematic_advance(before, speed_mps, sideslip, cars->wheelbase_m[i], dt_s), dt_s);
        cars->steering_rad[i] = steering_rad;
        cars->yaw_rate_radps[i] = drv_kinematic_yaw_rate(speed_mps, sideslip, cars->wheelbase_m[i]);
    }
}

void drv_bicycle_inverse(drv_motion_block *cars, const drv_motion_block *next, drv_motion_limits limits, float dt_s,
                         uint8_t *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i]);
        const drv_kinematic_controls found =
            drv_kinematic_inverse(cars->speed_mps[i], turn_rad, next->speed_mps[i], cars->wheelbase_m[i], limits, dt_s);
        cars->control[0][i] = found.acceleration_mps2;
        cars->control[1][i] = found.steering_rad;
        fit[i] = found.fit;
    }
}
