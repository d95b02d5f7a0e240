/* How does a car move whose actions are jerks? DRV_JERK.
 *
 * The model of GIGAFLOW (arXiv 2502.03349): longitudinal and lateral jerk change the accelerations, the lateral one
 * commands a curvature, and the wheels follow it at a bounded rate. The car moves on the arc of its curvature. A speed
 * or an acceleration whose sign would change is 0 for one step. The lateral acceleration is no state of its own: it is
 * the one that speed and wheel angle give. */
#include <math.h>
#include <stdbool.h>

#include "step/dynamics.h"

/* Limits of the accelerations; published with the model. */
static const float jerk_braking_mps2 = -5.0f, jerk_throttle_mps2 = 2.5f, jerk_lateral_mps2 = 4.0f;

/* Below this speed a curvature is commanded as at this speed. */
static const float jerk_curves_from_mps = 1.0f;

/* An arc that turns by less than this is straight to float32 precision. */
static const float jerk_straight_rad = 1e-5f;

static inline float unless_sign_changes(float before, float after) { return before * after < 0.0f ? 0.0f : after; }

/* The longitudinal part of a car's state. */
typedef struct jerk_longitudinal {
    float acceleration_mps2, speed_mps;
} jerk_longitudinal;

/* Acceleration and speed at the end of a step. */
static inline jerk_longitudinal jerk_longitudinal_after(jerk_longitudinal before, float jerk_mps3,
                                                        drv_motion_limits limits, float dt_s) {
    const float from_mps2 = before.acceleration_mps2;
    const float wanted_mps2 = unless_sign_changes(from_mps2, from_mps2 + jerk_mps3 * dt_s);
    const float acceleration_mps2 = drv_clip(wanted_mps2, jerk_braking_mps2, jerk_throttle_mps2);
    const float change_mps = 0.5f * (from_mps2 + acceleration_mps2) * dt_s;
    const float speed_mps = unless_sign_changes(before.speed_mps, before.speed_mps + change_mps);
    return (jerk_longitudinal){acceleration_mps2, drv_clip(speed_mps, limits.min_mps, limits.max_mps)};
}

static inline float jerk_curvature(float steering_rad, float wheelbase_m) {
    const drv_point wheel = drv_direction(steering_rad);
    return wheel.y / wheel.x / wheelbase_m;
}

/* The square of the speed at which a lateral acceleration commands its curvature. */
static inline float jerk_speed2(float speed_mps) {
    const float speed = drv_larger(fabsf(speed_mps), jerk_curves_from_mps);
    return speed * speed;
}

void drv_jerk_advance(drv_motion_block *cars, drv_motion_limits limits, float dt_s) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        /* accelerations, and the speed */
        const drv_motion before = drv_motion_at(cars, i);
        const float wheelbase_m = cars->wheelbase_m[i];
        const jerk_longitudinal next = jerk_longitudinal_after(
            (jerk_longitudinal){cars->acceleration_mps2[i], before.speed_mps}, cars->control[0][i], limits, dt_s);
        const float lateral_mps2 = before.speed_mps * before.speed_mps *
                                   jerk_curvature(cars->steering_rad[i], wheelbase_m);
        const float lateral = unless_sign_changes(lateral_mps2, lateral_mps2 + cars->control[1][i] * dt_s);
        const float commanded_mps2 = drv_clip(lateral, -jerk_lateral_mps2, jerk_lateral_mps2);

        /* the wheels */
        const float wanted_rad = drv_arc_tangent(commanded_mps2 / jerk_speed2(next.speed_mps) * wheelbase_m);
        const float steering_rad = drv_steering_after(cars->steering_rad[i], wanted_rad, limits, dt_s);

        /* the chord of the arc, which points along the heading halfway */
        const float path_m = 0.5f * (before.speed_mps + next.speed_mps) * dt_s;
        const float half_rad = 0.5f * path_m * jerk_curvature(steering_rad, wheelbase_m);
        const bool straight = fabsf(half_rad) < 0.5f * jerk_straight_rad;
        const float chord_m = straight ? path_m : path_m * drv_direction(half_rad).y / half_rad;
        const drv_point along = drv_direction(before.heading_rad + half_rad);
        const drv_motion after = {before.x_m + chord_m * along.x, before.y_m + chord_m * along.y,
                                  drv_wrap_angle(before.heading_rad + 2.0f * half_rad), next.speed_mps};
        drv_motion_store(cars, i, after, dt_s);
        cars->acceleration_mps2[i] = next.acceleration_mps2;
        cars->steering_rad[i] = steering_rad;
        cars->yaw_rate_radps[i] = 2.0f * half_rad / dt_s;
    }
}

void drv_jerk_inverse(drv_motion_block *cars, const drv_motion_block *next, drv_motion_limits limits, float dt_s,
                      uint8_t *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        /* the acceleration that reaches a steady speed in two steps; the one that reaches it in one step,
         * 2 (logged - speed) / dt - acceleration, would alternate in sign with the scatter of a log */
        const float speed_mps = cars->speed_mps[i], wheelbase_m = cars->wheelbase_m[i];
        const float logged_mps = drv_clip(next->speed_mps[i], limits.min_mps, limits.max_mps);
        const float needed_mps2 = (logged_mps - speed_mps) / dt_s - 0.5f * cars->acceleration_mps2[i];
        const float wanted_mps2 = drv_clip(needed_mps2, jerk_braking_mps2, jerk_throttle_mps2);
        const float jerk_mps3 = (wanted_mps2 - cars->acceleration_mps2[i]) / dt_s;
        const float feasible_mps3 = drv_clip(jerk_mps3, -DRV_BRAKING_JERK_MPS3, DRV_JERK_MPS3);
        const jerk_longitudinal reached =
            jerk_longitudinal_after((jerk_longitudinal){cars->acceleration_mps2[i], speed_mps}, feasible_mps3, limits,
                                    dt_s);

        /* the lateral acceleration that commands the curvature of the logged turn */
        const float path_m = 0.5f * (speed_mps + reached.speed_mps) * dt_s;
        const bool slow = (fabsf(reached.speed_mps) < drv_turn_observable_mps) | (path_m == 0.0f);
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i]);
        const float curvature = slow ? 0.0f : turn_rad / path_m;
        const float lateral_mps2 = speed_mps * speed_mps * jerk_curvature(cars->steering_rad[i], wheelbase_m);
        const float lateral_mps3 = (curvature * jerk_speed2(reached.speed_mps) - lateral_mps2) / dt_s;
        const bool clipped = (logged_mps != next->speed_mps[i]) | (wanted_mps2 != needed_mps2) |
                             (feasible_mps3 != jerk_mps3) | (fabsf(lateral_mps3) > DRV_JERK_MPS3) |
                             (fabsf(drv_arc_tangent(curvature * wheelbase_m)) > limits.steering_rad);
        cars->control[0][i] = jerk_mps3;
        cars->control[1][i] = lateral_mps3;
        fit[i] = (uint8_t)((slow ? DRV_INVERSE_SLOW : 0) | (clipped ? DRV_INVERSE_CLIPPED : 0));
    }
}
