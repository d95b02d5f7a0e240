/* How does a vehicle move? */
#include "dynamics.h"

#include <math.h>

#include "geometry.h"
#include "phases.h"

typedef struct slip_angle {
    float cosine, sine, steering_tangent;
} slip_angle;

/* slip = atan(tan(steering) / 2), by its cosine and sine: no arc tangent is needed. */
static slip_angle slip_of(float steering_rad) {
    drv_point wheel = drv_direction(steering_rad);
    float tangent = wheel.y / wheel.x;
    float half = 0.5f * tangent;
    float cosine = 1.0f / sqrtf(1.0f + half * half);
    return (slip_angle){cosine, half * cosine, tangent};
}

static float next_speed(float speed_mps, float acceleration_mps2, drv_speed_limits limits, float dt_s) {
    float speed = speed_mps + acceleration_mps2 * dt_s;
    bool passes_zero = (speed_mps > 0.0f && speed < 0.0f) || (speed_mps < 0.0f && speed > 0.0f);
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

drv_motion drv_bicycle_advance(drv_motion car, drv_control control, float wheelbase_m, drv_speed_limits limits,
                               float dt_s) {
    return advance(car, control, slip_of(control.steering_rad), wheelbase_m, limits, dt_s);
}

float drv_bicycle_yaw_rate(float speed_mps, float steering_rad, float wheelbase_m) {
    return yaw_rate(speed_mps, slip_of(steering_rad), wheelbase_m);
}

drv_control drv_discrete_control(const drv_config *config, int32_t acceleration_bin, int32_t steering_bin) {
    const int32_t acceleration_middle = DRV_ACCELERATION_BINS / 2, steering_middle = DRV_STEERING_BINS / 2;
    return (drv_control){
        (float)(acceleration_bin - acceleration_middle) / (float)acceleration_middle * config->max_acceleration_mps2,
        (float)(steering_bin - steering_middle) / (float)steering_middle * config->max_steering_rad,
    };
}

void drv_dynamics_integrate(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_scene *scene = world->scene;
    const drv_speed_limits limits = {world->config->min_speed_mps, world->config->max_speed_mps};
    for (int32_t row = 0; row < scene->row_count; row++) {
        if (world->status[row] != DRV_DRIVING) continue;
        float wheelbase_m = drv_wheelbase_share * scene->length_m[row];
        drv_motion before = {world->x_m[row], world->y_m[row], world->heading_rad[row], world->speed_mps[row]};
        drv_control control = world->control[row];
        slip_angle slip = slip_of(control.steering_rad);
        drv_motion after = advance(before, control, slip, wheelbase_m, limits, scene->dt_s);
        drv_point ahead = drv_direction(after.heading_rad);
        world->x_m[row] = after.x_m;
        world->y_m[row] = after.y_m;
        world->heading_rad[row] = after.heading_rad;
        world->cos_heading[row] = ahead.x;
        world->sin_heading[row] = ahead.y;
        world->speed_mps[row] = after.speed_mps;
        world->steering_rad[row] = control.steering_rad;
        world->acceleration_mps2[row] = (after.speed_mps - before.speed_mps) / scene->dt_s;
        world->yaw_rate_radps[row] = yaw_rate(after.speed_mps, slip, wheelbase_m);
        world->distance_m[row] += drv_absolute(after.speed_mps) * scene->dt_s;
    }
}
