/* How does a vehicle move? What all dynamics models share; each model is a file of dynamics/. */
#ifndef DRV_DYNAMICS_H
#define DRV_DYNAMICS_H

#include "drive.h"
#include "platform/isa.h"

typedef struct drv_motion {
    float x_m, y_m, heading_rad, speed_mps;
} drv_motion;

typedef struct drv_control {
    float acceleration_mps2, steering_rad;
} drv_control;

typedef struct drv_speed_limits {
    float min_mps, max_mps;
} drv_speed_limits;

/* Share of a vehicle's length between its axles. */
static const float drv_wheelbase_share = DRV_WHEELBASE_PERCENT / 100.0f;

/* Vehicles that a model moves at once, in a loop without a branch, which compilers vectorise. */
enum { DRV_MOTION_BLOCK = 8 };

/* Vehicles in struct-of-arrays form. Unused entries are at rest, with a wheelbase of 1 m. */
typedef struct drv_motion_block {
    /* before and after the step */
    float x_m[DRV_MOTION_BLOCK], y_m[DRV_MOTION_BLOCK], heading_rad[DRV_MOTION_BLOCK], speed_mps[DRV_MOTION_BLOCK];
    /* held during the step */
    float wanted_mps2[DRV_MOTION_BLOCK], steering_rad[DRV_MOTION_BLOCK], wheelbase_m[DRV_MOTION_BLOCK];
    /* after the step; acceleration and yaw rate are those of the step, limits included */
    float cos_heading[DRV_MOTION_BLOCK], sin_heading[DRV_MOTION_BLOCK];
    float acceleration_mps2[DRV_MOTION_BLOCK], yaw_rate_radps[DRV_MOTION_BLOCK];
} drv_motion_block;

/* How well an inverse reproduces a change of motion. */
typedef enum drv_inverse_fit {
    DRV_INVERSE_EXACT,
    DRV_INVERSE_SLOW,       /* the vehicle is too slow for its turn to tell the steering, which is 0 */
    DRV_INVERSE_UNREACHABLE /* no steering turns the vehicle so fast: the steering is the largest to that side */
} drv_inverse_fit;

/* Moves every vehicle of the block by dt_s with its controls held. */
typedef void drv_dynamics_advance(drv_motion_block *vehicles, drv_speed_limits limits, float dt_s);
/* Sets the controls of every vehicle to those with which `advance` leads from its motion to that of its entry of
 * `next`, of which pose and speed are read. Ignores limits of controls. */
typedef void drv_dynamics_inverse(drv_motion_block *vehicles, const drv_motion_block *next, float dt_s,
                                  drv_inverse_fit *fit);

typedef struct drv_dynamics_model {
    drv_dynamics_advance *advance;
    drv_dynamics_inverse *inverse;
} drv_dynamics_model;

/* Every model defines these two in its file of dynamics/. */
#define X(symbol, name)                                      \
    DRV_STEP_API drv_dynamics_advance drv_##name##_advance; \
    DRV_STEP_API drv_dynamics_inverse drv_##name##_inverse;
DRV_DYNAMICS(X)
#undef X

/* The model of a config's `dynamics`. */
DRV_STEP_API const drv_dynamics_model *drv_dynamics_model_of(int32_t dynamics);

/* A block of vehicles at rest. */
DRV_STEP_API void drv_motion_block_clear(drv_motion_block *block);

#endif
