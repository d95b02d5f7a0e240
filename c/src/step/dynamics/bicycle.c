/* How does a car move that steers its front wheels without slip? DRV_BICYCLE.
 *
 * Kinematic bicycle about the point midway between the axles (Polack et al. 2017): the wheels do not slip, the centre
 * moves along heading + slip with slip = atan(tan(steering) / 2). The new speed holds for the whole step, so one second
 * at 4 m/s2 from rest ends at exactly 4 m/s and a held steering angle drives a regular polygon on one circle. With
 * reverse allowed, a step that would pass through zero ends at rest. */
#include <math.h>
#include <stdbool.h>

#include "math/geometry.h"
#include "step/dynamics.h"

typedef struct slip_angle {
    float cosine, sine, steering_tangent;
} slip_angle;

/* slip = atan(tan(steering) / 2), as cosine and sine: no arc tangent is needed. */
static slip_angle slip_of(float steering_rad) {
    drv_point wheel = drv_direction(steering_rad);
    float tangent = wheel.y / wheel.x;
    float half = 0.5f * tangent;
    float cosine = 1.0f / sqrtf(1.0f + half * half);
    return (slip_angle){cosine, half * cosine, tangent};
}

static float next_speed(float speed_mps, float acceleration_mps2, drv_speed_limits limits, float dt_s) {
    float speed = speed_mps + acceleration_mps2 * dt_s;
    const bool passes_zero = ((speed_mps > 0.0f) & (speed < 0.0f)) | ((speed_mps < 0.0f) & (speed > 0.0f));
    return passes_zero ? 0.0f : drv_clip(speed, limits.min_mps, limits.max_mps);
}

static drv_motion advance(drv_motion car, drv_control control, slip_angle slip, float wheelbase_m,
                          drv_speed_limits limits, float dt_s) {
    drv_point ahead = drv_direction(car.heading_rad);
    float speed = next_speed(car.speed_mps, control.acceleration_mps2, limits, dt_s);
    float path_m = speed * dt_s;
    drv_motion next = {
        car.x_m + path_m * (ahead.x * slip.cosine - ahead.y * slip.sine),
        car.y_m + path_m * (ahead.y * slip.cosine + ahead.x * slip.sine),
        drv_wrap_angle(car.heading_rad + path_m * slip.cosine * slip.steering_tangent / wheelbase_m),
        speed,
    };
    return next;
}

static float yaw_rate(float speed_mps, slip_angle slip, float wheelbase_m) {
    return speed_mps * slip.cosine * slip.steering_tangent / wheelbase_m;
}

void drv_bicycle_advance(drv_motion_block *cars, drv_speed_limits limits, float dt_s) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion before = {cars->x_m[i], cars->y_m[i], cars->heading_rad[i], cars->speed_mps[i]};
        const drv_control control = {cars->wanted_mps2[i], cars->steering_rad[i]};
        const slip_angle slip = slip_of(control.steering_rad);
        const drv_motion after = advance(before, control, slip, cars->wheelbase_m[i], limits, dt_s);
        const drv_point ahead = drv_direction(after.heading_rad);
        cars->x_m[i] = after.x_m;
        cars->y_m[i] = after.y_m;
        cars->heading_rad[i] = after.heading_rad;
        cars->speed_mps[i] = after.speed_mps;
        cars->acceleration_mps2[i] = (after.speed_mps - before.speed_mps) / dt_s;
        cars->cos_heading[i] = ahead.x;
        cars->sin_heading[i] = ahead.y;
        cars->yaw_rate_radps[i] = yaw_rate(after.speed_mps, slip, cars->wheelbase_m[i]);
    }
}

/* Below this speed a step of 0.1 s turns a car by less than logged headings scatter, some 0.01 rad. */
static const float steers_from_mps = 0.6f;

/* Speed and heading determine the two controls; positions are not read. */
void drv_bicycle_inverse(drv_motion_block *cars, const drv_motion_block *next, float dt_s, drv_inverse_fit *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const float speed_mps = next->speed_mps[i];
        const float turn_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i]);
        const bool slow = fabsf(speed_mps) < steers_from_mps;
        /* tan(steering) * cos(slip), which tends to 2 as the wheels stand across. */
        const float bend = slow ? 0.0f : turn_rad * cars->wheelbase_m[i] / (speed_mps * dt_s);
        const bool reachable = fabsf(bend) < 2.0f;
        const float steering_rad = reachable ? drv_arc_tangent(bend / sqrtf(1.0f - 0.25f * bend * bend))
                                             : copysignf(0.5f * drv_pi, bend);
        cars->wanted_mps2[i] = (speed_mps - cars->speed_mps[i]) / dt_s;
        cars->steering_rad[i] = steering_rad;
        fit[i] = slow ? DRV_INVERSE_SLOW : reachable ? DRV_INVERSE_EXACT : DRV_INVERSE_UNREACHABLE;
    }
}
