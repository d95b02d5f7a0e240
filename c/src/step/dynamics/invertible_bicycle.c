/* How does a car move whose actions are acceleration and curvature? DRV_INVERTIBLE_BICYCLE.
 *
 * Waymax's invertible bicycle: acceleration and curvature hold for a step, so that pose and speed after it determine
 * both. The car moves along the heading before the step, by the distance of a constant acceleration. Where the speed is
 * clipped, that is the acceleration that reaches the limit at the end of the step. */
#include <math.h>
#include <stdbool.h>

#include "step/dynamics.h"

void drv_invertible_bicycle_advance(drv_motion_block *cars, drv_motion_limits limits, float dt_s) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion before = drv_motion_at(cars, i);
        const float curvature = cars->control[1][i];
        const float speed_mps = drv_clip(before.speed_mps + cars->control[0][i] * dt_s, limits.min_mps, limits.max_mps);
        const float path_m = 0.5f * (before.speed_mps + speed_mps) * dt_s;
        const drv_point ahead = drv_direction(before.heading_rad);
        const drv_motion after = {before.x_m + path_m * ahead.x, before.y_m + path_m * ahead.y,
                                  drv_wrap_angle(before.heading_rad + curvature * path_m), speed_mps};
        drv_motion_store(cars, i, after, dt_s);
        /* The wheel angle of a kinematic bicycle about the rear axle. */
        cars->steering_rad[i] = drv_arc_tangent(curvature * cars->wheelbase_m[i]);
        cars->yaw_rate_radps[i] = curvature * path_m / dt_s;
    }
}

void drv_invertible_bicycle_inverse(drv_motion_block *cars, const drv_motion_block *next, drv_motion_limits limits,
                                    float dt_s, uint8_t *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const float speed_mps = cars->speed_mps[i], logged_mps = next->speed_mps[i];
        const float next_mps = drv_reachable_mps(limits, speed_mps, logged_mps, dt_s);
        const bool slow = (fabsf(speed_mps) < drv_turn_observable_mps) | (fabsf(next_mps) < drv_turn_observable_mps);
        const float path_m = 0.5f * (speed_mps + next_mps) * dt_s;
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i]);
        /* Two speeds of opposite signs may give a distance of 0. */
        const bool turns = !slow & (path_m != 0.0f);
        const float curvature = turns ? turn_rad / path_m : 0.0f;
        const bool clipped = (next_mps != logged_mps) | (fabsf(curvature) > DRV_CURVATURE_LIMIT_PER_M);
        cars->control[0][i] = (next_mps - speed_mps) / dt_s;
        cars->control[1][i] = curvature;
        fit[i] = (uint8_t)((turns ? 0 : DRV_INVERSE_SLOW) | (clipped ? DRV_INVERSE_CLIPPED : 0));
    }
}
