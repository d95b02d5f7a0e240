/* How does a vehicle move? */
#include "step/dynamics.h"

#include <math.h>
#include <string.h>

#include "math/geometry.h"
#include "step/phases.h"

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

/* So many cars are moved at once, in a loop without a branch, which compilers make into vectors. */
enum { block_width = 8 };

typedef struct car_block {
    float x_m[block_width], y_m[block_width], heading_rad[block_width], speed_mps[block_width];
    float wanted_mps2[block_width], steering_rad[block_width], wheelbase_m[block_width];
    float cos_heading[block_width], sin_heading[block_width];
    float acceleration_mps2[block_width], yaw_rate_radps[block_width];
} car_block;

static void advance_block(car_block *cars, drv_speed_limits limits, float dt_s) {
    for (int32_t i = 0; i < block_width; i++) {
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

void drv_dynamics_integrate(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_scene *scene = world->scene;
    const drv_speed_limits limits = {world->config->min_speed_mps, world->config->max_speed_mps};
    const drv_control still = {0.0f, 0.0f}; /* in the place of what agents that wait have, which may be anything */
    for (int32_t first = 0; first < scene->num_agents; first += block_width) {
        const int32_t left = scene->num_agents - first, count = left < block_width ? left : block_width;
        car_block cars;
        memset(&cars, 0, sizeof cars);
        for (int32_t i = count; i < block_width; i++) cars.wheelbase_m[i] = 1.0f;
        for (int32_t i = 0, agent = first; i < count; i++, agent++) {
            const drv_control wanted = world->status[agent] == DRV_DRIVING ? drv_actions_control(world, agent) : still;
            cars.x_m[i] = world->x_m[agent];
            cars.y_m[i] = world->y_m[agent];
            cars.heading_rad[i] = world->heading_rad[agent];
            cars.speed_mps[i] = world->speed_mps[agent];
            cars.steering_rad[i] = wanted.steering_rad;
            cars.wanted_mps2[i] = wanted.acceleration_mps2;
            cars.wheelbase_m[i] = drv_wheelbase_share * scene->length_m[agent];
        }
        advance_block(&cars, limits, scene->dt_s); /* those that do not drive too; what comes of it is dropped */
        for (int32_t i = 0, agent = first; i < count; i++, agent++) {
            if (world->status[agent] != DRV_DRIVING) continue;
            world->x_m[agent] = cars.x_m[i];
            world->y_m[agent] = cars.y_m[i];
            world->heading_rad[agent] = cars.heading_rad[i];
            world->cos_heading[agent] = cars.cos_heading[i];
            world->sin_heading[agent] = cars.sin_heading[i];
            world->speed_mps[agent] = cars.speed_mps[i];
            world->steering_rad[agent] = cars.steering_rad[i];
            world->acceleration_mps2[agent] = cars.acceleration_mps2[i];
            world->yaw_rate_radps[agent] = cars.yaw_rate_radps[i];
            world->distance_m[agent] += fabsf(cars.speed_mps[i]) * scene->dt_s;
        }
    }
}
