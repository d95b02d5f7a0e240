/* How does a vehicle move? What all dynamics models share; each model is a file of dynamics/. */
#ifndef DRV_DYNAMICS_H
#define DRV_DYNAMICS_H

#include "drive.h"
#include "math/geometry.h"
#include "platform/isa.h"
#include "view/action_space.h"

typedef struct drv_motion {
    float x_m, y_m, heading_rad, speed_mps;
} drv_motion;

/* The limits that a config sets. */
typedef struct drv_motion_limits {
    float min_mps, max_mps, acceleration_mps2, steering_rad;
} drv_motion_limits;

/* Share of a vehicle's length between its axles. */
static const float drv_wheelbase_share = DRV_WHEELBASE_PERCENT / 100.0f;

/* The number of vehicles that a model moves at once, in a loop without a branch, which compilers vectorise. */
enum { DRV_MOTION_BLOCK = 8 };

/* Vehicles in struct-of-arrays form. Unused entries are at rest, with a wheelbase of 1 m. */
typedef struct drv_motion_block {
    /* before and after the step */
    float x_m[DRV_MOTION_BLOCK], y_m[DRV_MOTION_BLOCK], heading_rad[DRV_MOTION_BLOCK], speed_mps[DRV_MOTION_BLOCK];
    float steering_rad[DRV_MOTION_BLOCK], acceleration_mps2[DRV_MOTION_BLOCK];
    float sideslip_rad[DRV_MOTION_BLOCK]; /* of DRV_SINGLE_TRACK, whose yaw rate is a state too */
    /* held during the step; the controls are those of the model's row in DRV_DYNAMICS, in that order */
    float control[DRV_ACTION_DIMENSIONS][DRV_MOTION_BLOCK], wheelbase_m[DRV_MOTION_BLOCK];
    float friction[DRV_MOTION_BLOCK]; /* coefficient of friction between tyres and road */
    /* after the step; acceleration (above) and yaw rate are means over the step, with the limits applied. Two are
     * values at the end of the step instead: the acceleration in DRV_JERK, and the yaw rate in DRV_SINGLE_TRACK. */
    float cos_heading[DRV_MOTION_BLOCK], sin_heading[DRV_MOTION_BLOCK], yaw_rate_radps[DRV_MOTION_BLOCK];
} drv_motion_block;

/* How well an inverse reproduces a change of motion. */
typedef enum drv_inverse_fit {
    DRV_INVERSE_EXACT = 0,
    DRV_INVERSE_SLOW = 1,   /* the vehicle is too slow for its turn to determine the steering, which is neutral */
    DRV_INVERSE_CLIPPED = 2 /* the limits do not allow the change: the controls lead as close to it as they can */
} drv_inverse_fit;

/* Moves every vehicle of the block by dt_s with its controls held. */
typedef void drv_dynamics_advance(drv_motion_block *vehicles, drv_motion_limits limits, float dt_s);
/* Sets the controls of every vehicle to those with which `advance` leads from its motion to the speed and heading of
 * its entry of `next`, or in DRV_DELTA_LOCAL and DRV_STATE to its pose; in DRV_JERK a steady speed is reached after two
 * steps, and in DRV_SINGLE_TRACK the car turns at the yaw rate of `next`, the logged one, and corrects its heading over
 * some steps. Sets `fit` to bits of drv_inverse_fit. Controls may exceed the range of an action where the fit is
 * clipped. */
typedef void drv_dynamics_inverse(drv_motion_block *vehicles, const drv_motion_block *next, drv_motion_limits limits,
                                  float dt_s, uint8_t *fit);

typedef struct drv_dynamics_model {
    drv_dynamics_advance *advance;
    drv_dynamics_inverse *inverse;
} drv_dynamics_model;

/* Every model defines these two in its file of dynamics/. */
#define X(symbol, name, ...)                                 \
    DRV_STEP_API drv_dynamics_advance drv_##name##_advance; \
    DRV_STEP_API drv_dynamics_inverse drv_##name##_inverse;
DRV_DYNAMICS(X)
#undef X

/* The model of a config's `dynamics`. */
DRV_STEP_API const drv_dynamics_model *drv_dynamics_model_of(int32_t dynamics);

static inline drv_motion_limits drv_motion_limits_of(const drv_config *config) {
    return (drv_motion_limits){config->min_speed_mps, config->max_speed_mps, config->max_acceleration_mps2,
                               config->max_steering_rad};
}

/* A block of vehicles at rest, on a road of that friction. */
DRV_STEP_API void drv_motion_block_clear(drv_motion_block *block, float friction);

/* ---- for models ---- */

static inline drv_motion drv_motion_at(const drv_motion_block *block, int32_t i) {
    return (drv_motion){block->x_m[i], block->y_m[i], block->heading_rad[i], block->speed_mps[i]};
}

/* Stores the motion at the end of a step, and what follows from it. */
static inline void drv_motion_store(drv_motion_block *block, int32_t i, drv_motion after, float dt_s) {
    const drv_point ahead = drv_direction(after.heading_rad);
    block->acceleration_mps2[i] = (after.speed_mps - block->speed_mps[i]) / dt_s;
    block->x_m[i] = after.x_m;
    block->y_m[i] = after.y_m;
    block->heading_rad[i] = after.heading_rad;
    block->speed_mps[i] = after.speed_mps;
    block->cos_heading[i] = ahead.x;
    block->sin_heading[i] = ahead.y;
}

/* The speed nearest to a wanted one that a step can end with. */
static inline float drv_reachable_mps(drv_motion_limits limits, float from_mps, float wanted_mps, float dt_s) {
    const float change_mps = limits.acceleration_mps2 * dt_s;
    const float low = drv_larger(limits.min_mps, from_mps - change_mps);
    return drv_clip(wanted_mps, low, drv_smaller(limits.max_mps, from_mps + change_mps));
}

/* The rate at which the wheels follow a commanded angle, in the models in which they need time to turn. */
static const float drv_steering_radps = 0.6f;

/* The wheel angle at the end of a step in which it follows a commanded one. */
static inline float drv_steering_after(float steering_rad, float commanded_rad, drv_motion_limits limits, float dt_s) {
    const float most_rad = drv_steering_radps * dt_s;
    const float change_rad = drv_clip(commanded_rad - steering_rad, -most_rad, most_rad);
    return drv_clip(steering_rad + change_rad, -limits.steering_rad, limits.steering_rad);
}

/* Below this speed a step of 0.1 s turns a car by less than logged headings scatter, some 0.01 rad, so an inverse does
 * not infer steering from the turn. */
static const float drv_turn_observable_mps = 0.6f;

#endif
