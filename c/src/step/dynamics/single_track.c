/* How does a car move whose tyres slip? DRV_SINGLE_TRACK.
 *
 * The dynamic single-track model of CommonRoad (Althoff et al. 2017) about the centre of gravity: yaw rate and sideslip
 * are states, and the force of an axle is its load times its slip angle times a stiffness. That is a linear tyre, which
 * has no limit of grip. All cars have the parameters of CommonRoad's vehicle 2, a BMW 320i, whatever their box. The
 * equations divide by the speed and turn stiff as it falls, so a slow or reversing car rolls without slip. */
#include <math.h>
#include <stdbool.h>

#include "step/dynamics.h"

static const float slip_gravity_mps2 = 9.81f;

/* The car: mass and moment of inertia about the vertical axis, height of the centre of gravity above the road, its
 * distances to the axles, and the distance between them. */
static const float slip_mass_kg = 1093.2952f, slip_inertia_kgm2 = 1791.5995f, slip_height_m = 0.61373f;
static const float slip_front_m = 1.1561957f, slip_rear_m = 1.4227171f, slip_wheelbase_m = 2.5789128f;
/* The tyres: coefficient of friction, and stiffness of both axles per rad and unit of load. */
static const float slip_friction = 1.0489f, slip_stiffness_per_rad = 21.92f / 1.0489f;
/* The wheels: largest angle, and rate at which they follow a commanded one. */
static const float slip_steering_rad = 1.066f, slip_steering_radps = 0.4f;
/* The engine: largest acceleration, and the speed from which on its power limits it. Brakes have the same limit. */
static const float slip_acceleration_mps2 = 11.5f, slip_power_from_mps = 7.319f;

/* The integration step, and the speed below which a car rolls. The Runge-Kutta method is stable while a step is at most
 * 2.785 times the time in which slip decays to 1/e. That time is proportional to the speed, and shortest where the
 * acceleration is largest: with this step the method is unstable below 1.25 m/s at 11.5 m/s2. */
static const float slip_step_s = 0.01f, slip_from_mps = 1.3f;

/* Beyond these a linear tyre means nothing; the limits keep the motion finite. */
static const float slip_most_radps = 10.0f, slip_most_rad = 1.5707964f;

/* The rate at which expert actions correct the heading: wheels and yaw rate need some 0.2 s to follow. */
static const float slip_correction_per_s = 2.0f;

/* What a step integrates: displacement and turn since its start, yaw rate and sideslip. Also their rates of change. */
typedef struct slip_state {
    float x_m, y_m, turn_rad, yaw_rate_radps, sideslip_rad;
} slip_state;

/* What holds or is prescribed during a substep. */
typedef struct slip_input {
    float heading_rad; /* at the start of the step */
    float speed_mps, acceleration_mps2, steering_rad, steering_radps; /* speed and angle at the start of the substep */
} slip_input;

static inline slip_state slip_sum(slip_state state, slip_state rates, float dt_s) {
    return (slip_state){state.x_m + rates.x_m * dt_s, state.y_m + rates.y_m * dt_s,
                        state.turn_rad + rates.turn_rad * dt_s,
                        state.yaw_rate_radps + rates.yaw_rate_radps * dt_s,
                        state.sideslip_rad + rates.sideslip_rad * dt_s};
}

/* The rates of change, at a time within the substep. Acceleration shifts load to the rear axle. */
static inline slip_state slip_rates(slip_state state, slip_input input, float at_s) {
    const float speed_mps = input.speed_mps + input.acceleration_mps2 * at_s;
    const float steering_rad = input.steering_rad + input.steering_radps * at_s;
    const float lift = input.acceleration_mps2 * slip_height_m;
    const float front = slip_stiffness_per_rad * (slip_gravity_mps2 * slip_rear_m - lift);
    const float rear = slip_stiffness_per_rad * (slip_gravity_mps2 * slip_front_m + lift);
    const float moment = slip_rear_m * rear - slip_front_m * front;
    const float damping = slip_front_m * slip_front_m * front + slip_rear_m * slip_rear_m * rear;
    const float per_m = state.yaw_rate_radps / speed_mps;
    const drv_point along = drv_direction(input.heading_rad + state.turn_rad + state.sideslip_rad);
    return (slip_state){
        speed_mps * along.x,
        speed_mps * along.y,
        state.yaw_rate_radps,
        slip_friction * slip_mass_kg / (slip_inertia_kgm2 * slip_wheelbase_m) *
            (slip_front_m * front * steering_rad + moment * state.sideslip_rad - damping * per_m),
        slip_friction / (slip_wheelbase_m * speed_mps) *
                (front * steering_rad - (front + rear) * state.sideslip_rad + moment * per_m) - state.yaw_rate_radps,
    };
}

/* A substep with slip, by the classical Runge-Kutta method of order 4. */
static inline slip_state slip_slide(slip_state state, slip_input input, float dt_s) {
    const float half_s = 0.5f * dt_s;
    const slip_state first = slip_rates(state, input, 0.0f);
    const slip_state second = slip_rates(slip_sum(state, first, half_s), input, half_s);
    const slip_state third = slip_rates(slip_sum(state, second, half_s), input, half_s);
    const slip_state fourth = slip_rates(slip_sum(state, third, dt_s), input, dt_s);
    state = slip_sum(state, first, dt_s / 6.0f);
    state = slip_sum(state, second, dt_s / 3.0f);
    state = slip_sum(state, third, dt_s / 3.0f);
    state = slip_sum(state, fourth, dt_s / 6.0f);
    state.yaw_rate_radps = drv_clip(state.yaw_rate_radps, -slip_most_radps, slip_most_radps);
    state.sideslip_rad = drv_clip(state.sideslip_rad, -slip_most_rad, slip_most_rad);
    return state;
}

/* A substep without slip, at the wheel angle of its end; yaw rate and sideslip follow from it. */
static inline slip_state slip_roll(slip_state state, slip_input input, float dt_s) {
    const drv_point wheel = drv_direction(input.steering_rad + input.steering_radps * dt_s);
    const float tangent = wheel.y / wheel.x * (slip_rear_m / slip_wheelbase_m); /* of the sideslip */
    const float cosine = 1.0f / sqrtf(1.0f + tangent * tangent);
    const float curvature = tangent * cosine / slip_rear_m;
    const float path_m = (input.speed_mps + 0.5f * input.acceleration_mps2 * dt_s) * dt_s;
    const float turn_rad = path_m * curvature, sideslip_rad = drv_arc_tangent(tangent);
    const drv_point along = drv_direction(input.heading_rad + state.turn_rad + 0.5f * turn_rad + sideslip_rad);
    return (slip_state){state.x_m + path_m * along.x, state.y_m + path_m * along.y, state.turn_rad + turn_rad,
                        (input.speed_mps + input.acceleration_mps2 * dt_s) * curvature, sideslip_rad};
}

/* The largest acceleration of the engine at a speed. */
static inline float slip_engine_mps2(float speed_mps) {
    return slip_acceleration_mps2 * slip_power_from_mps / drv_larger(speed_mps, slip_power_from_mps);
}

/* The wheel angle at the end of a step in which it follows a commanded one. */
static inline float slip_steering_after(float steering_rad, float commanded_rad, drv_motion_limits limits, float dt_s) {
    const float most_rad = slip_steering_radps * dt_s, limit_rad = drv_smaller(limits.steering_rad, slip_steering_rad);
    return drv_clip(steering_rad + drv_clip(commanded_rad - steering_rad, -most_rad, most_rad), -limit_rad, limit_rad);
}

void drv_single_track_advance(drv_motion_block *cars, drv_motion_limits limits, float dt_s) {
    /* rounded up, but not where only the rounding of the quotient puts it above a whole number */
    const int32_t substeps = (int32_t)(dt_s / slip_step_s + 0.999f);
    const float substep_s = dt_s / (float)substeps;

    /* where the cars begin, and to which angle their wheels turn within the step, at a constant rate */
    slip_state state[DRV_MOTION_BLOCK];
    float speed_mps[DRV_MOTION_BLOCK], steering_rad[DRV_MOTION_BLOCK];
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        state[i] = (slip_state){0.0f, 0.0f, 0.0f, cars->yaw_rate_radps[i], cars->sideslip_rad[i]};
        speed_mps[i] = cars->speed_mps[i];
        steering_rad[i] = slip_steering_after(cars->steering_rad[i], cars->control[1][i], limits, dt_s);
    }

    /* substeps, each of all cars; the acceleration of one is what engine, brakes and limits of speed allow */
    for (int32_t k = 0; k < substeps; k++)
        for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
            const float before_mps = speed_mps[i];
            const float wanted_mps2 =
                drv_clip(cars->control[0][i], -slip_acceleration_mps2, slip_engine_mps2(before_mps));
            const float after_mps = drv_clip(before_mps + wanted_mps2 * substep_s, limits.min_mps, limits.max_mps);
            const float rate_radps = (steering_rad[i] - cars->steering_rad[i]) / dt_s;
            const slip_input input = {cars->heading_rad[i], before_mps, (after_mps - before_mps) / substep_s,
                                      cars->steering_rad[i] + rate_radps * ((float)k * substep_s), rate_radps};
            const bool slides = (before_mps >= slip_from_mps) & (after_mps >= slip_from_mps);
            state[i] = slides ? slip_slide(state[i], input, substep_s) : slip_roll(state[i], input, substep_s);
            speed_mps[i] = after_mps;
        }

    /* where they end */
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        const drv_motion after = {cars->x_m[i] + state[i].x_m, cars->y_m[i] + state[i].y_m,
                                  drv_wrap_angle(cars->heading_rad[i] + state[i].turn_rad), speed_mps[i]};
        drv_motion_store(cars, i, after, dt_s);
        cars->steering_rad[i] = steering_rad[i];
        cars->yaw_rate_radps[i] = state[i].yaw_rate_radps;
        cars->sideslip_rad[i] = state[i].sideslip_rad;
    }
}

void drv_single_track_inverse(drv_motion_block *cars, const drv_motion_block *next, drv_motion_limits limits,
                              float dt_s, uint8_t *fit) {
    for (int32_t i = 0; i < DRV_MOTION_BLOCK; i++) {
        /* the speed */
        const float speed_mps = cars->speed_mps[i], logged_mps = next->speed_mps[i];
        const float next_mps = drv_reachable_mps(limits, speed_mps, logged_mps, dt_s);
        const float wanted_mps2 = (next_mps - speed_mps) / dt_s;
        const bool weak = (wanted_mps2 > slip_engine_mps2(speed_mps)) | (wanted_mps2 < -slip_acceleration_mps2);

        /* the wheel angle that keeps up the logged turn, and corrects the heading slowly enough not to overshoot */
        const bool slow = fabsf(next_mps) < drv_turn_observable_mps;
        const float logged_radps = next->yaw_rate_radps[i];
        const float error_rad = drv_wrap_angle(next->heading_rad[i] - cars->heading_rad[i] - logged_radps * dt_s);
        const float turn_radps = logged_radps + error_rad * slip_correction_per_s;
        const float relative = slow ? 0.0f : turn_radps * slip_wheelbase_m / next_mps;
        const float wanted_rad = next_mps >= slip_from_mps ? relative : drv_arc_tangent(relative);
        const float reached_rad = slip_steering_after(cars->steering_rad[i], wanted_rad, limits, dt_s);
        const bool late = fabsf(reached_rad - wanted_rad) > 1e-5f; /* the wheels do not reach it within the step */

        cars->control[0][i] = wanted_mps2;
        cars->control[1][i] = wanted_rad;
        const bool clipped = (next_mps != logged_mps) | weak | (late & !slow);
        fit[i] = (uint8_t)((slow ? DRV_INVERSE_SLOW : 0) | (clipped ? DRV_INVERSE_CLIPPED : 0));
    }
}
