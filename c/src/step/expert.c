/* Which actions replay a log? Each is the inverse of the dynamics, from the motion that the replay has reached to the
 * logged motion of the next frame. */
#include "step/expert.h"

#include <math.h>

#include "math/geometry.h"
#include "step/actions.h"
#include "step/dynamics.h"
#include "view/action_space.h"

/* The replay of up to a block of vehicles of a log. */
typedef struct log_replay {
    int32_t first, count; /* vehicles of the log */
    drv_motion_block block;
    bool continues[DRV_MOTION_BLOCK]; /* from the motion reached in the frame before; else from the logged one */
} log_replay;

/* The logged motion of entry `at`; its speed is the part of the velocity along the heading. */
static drv_motion motion_at(const drv_log *log, int64_t at) {
    const float heading_rad = drv_wrap_angle(log->heading_rad[at]);
    const drv_point ahead = drv_direction(heading_rad);
    return (drv_motion){log->x_m[at], log->y_m[at], heading_rad, log->vx_mps[at] * ahead.x + log->vy_mps[at] * ahead.y};
}

static void set_motion(drv_motion_block *block, int32_t i, drv_motion motion) {
    block->x_m[i] = motion.x_m;
    block->y_m[i] = motion.y_m;
    block->heading_rad[i] = motion.heading_rad;
    block->speed_mps[i] = motion.speed_mps;
}

/* The speed nearest to a logged one that a step can end with. */
static float reachable_mps(const drv_config *config, float from_mps, float logged_mps, float dt_s) {
    const float change_mps = config->max_acceleration_mps2 * dt_s;
    const float low = drv_larger(config->min_speed_mps, from_mps - change_mps);
    return drv_clip(logged_mps, low, drv_smaller(config->max_speed_mps, from_mps + change_mps));
}

/* Sets `next` to the logged motion at the end of the step that begins with `frame`, its speed clipped to a reachable
 * one, and the bits VALID and CLIPPED of each vehicle. */
static void read_target(const drv_config *config, const drv_log *log, int32_t frame, log_replay *replay,
                        drv_motion_block *next, uint8_t *bits) {
    drv_motion_block_clear(next);
    for (int32_t i = 0; i < replay->count; i++) {
        const int64_t at = (int64_t)frame * log->vehicle_count + replay->first + i, then = at + log->vehicle_count;
        const bool valid = log->valid[at] && log->valid[then];
        if (valid && !replay->continues[i]) {
            drv_motion start = motion_at(log, at);
            start.speed_mps = drv_clip(start.speed_mps, config->min_speed_mps, config->max_speed_mps);
            set_motion(&replay->block, i, start);
        }
        replay->continues[i] = valid;
        bits[i] = 0;
        if (!valid) continue;
        drv_motion target = motion_at(log, then);
        const float logged_mps = target.speed_mps;
        target.speed_mps = reachable_mps(config, replay->block.speed_mps[i], logged_mps, log->dt_s);
        bits[i] = (uint8_t)(DRV_EXPERT_VALID | (target.speed_mps != logged_mps ? DRV_EXPERT_CLIPPED : 0));
        set_motion(next, i, target);
    }
}

/* The control as a share of its limit, clipped to [-1, 1]. */
static float share_of(float control, float limit) { return drv_clip(control / limit, -1.0f, 1.0f); }

/* Writes the action nearest to a pair of shares, and returns its control. */
static drv_control write_action(const drv_config *config, float throttle, float steering, drv_actions actions,
                                int64_t at) {
    if (config->action_type == DRV_CONTINUOUS) {
        actions.share[2 * at] = throttle;
        actions.share[2 * at + 1] = steering;
        return (drv_control){throttle * config->max_acceleration_mps2, steering * config->max_steering_rad};
    }
    const int32_t acceleration_bin = drv_nearest_bin(throttle, DRV_ACCELERATION_BINS);
    const int32_t steering_bin = drv_nearest_bin(steering, DRV_STEERING_BINS);
    if (config->action_type == DRV_DISCRETE) {
        actions.bin[at] = acceleration_bin * DRV_STEERING_BINS + steering_bin;
    } else {
        actions.bin[2 * at] = acceleration_bin;
        actions.bin[2 * at + 1] = steering_bin;
    }
    return drv_discrete_control(config, acceleration_bin, steering_bin);
}

/* Writes the actions of the step that begins with `frame`, and moves the vehicles by them. */
static void replay_step(const drv_config *config, const drv_log *log, int32_t frame, log_replay *replay,
                        drv_actions actions, uint8_t *bits) {
    const drv_dynamics_model *model = drv_dynamics_model_of(config->dynamics);
    const int64_t first = (int64_t)frame * log->vehicle_count + replay->first;
    drv_motion_block next;
    drv_inverse_fit fit[DRV_MOTION_BLOCK];
    read_target(config, log, frame, replay, &next, bits + first);
    model->inverse(&replay->block, &next, log->dt_s, fit);
    for (int32_t i = 0; i < replay->count; i++) {
        const bool valid = bits[first + i] & DRV_EXPERT_VALID;
        const float steering_rad = valid ? replay->block.steering_rad[i] : 0.0f;
        const float throttle = valid ? share_of(replay->block.wanted_mps2[i], config->max_acceleration_mps2) : 0.0f;
        const bool clips = fabsf(steering_rad) > config->max_steering_rad, slow = valid && fit[i] == DRV_INVERSE_SLOW;
        bits[first + i] |= (uint8_t)((clips ? DRV_EXPERT_CLIPPED : 0) | (slow ? DRV_EXPERT_SLOW : 0));
        const float steering = share_of(steering_rad, config->max_steering_rad);
        const drv_control control = write_action(config, throttle, steering, actions, first + i);
        replay->block.wanted_mps2[i] = control.acceleration_mps2;
        replay->block.steering_rad[i] = control.steering_rad;
    }
    const drv_speed_limits limits = {config->min_speed_mps, config->max_speed_mps};
    model->advance(&replay->block, limits, log->dt_s);
}

void drv_expert_write(const drv_config *config, const drv_log *log, drv_actions actions, uint8_t *bits) {
    for (int32_t first = 0; first < log->vehicle_count; first += DRV_MOTION_BLOCK) {
        const int32_t left = log->vehicle_count - first;
        log_replay replay = {.first = first, .count = left < DRV_MOTION_BLOCK ? left : DRV_MOTION_BLOCK};
        drv_motion_block_clear(&replay.block);
        for (int32_t i = 0; i < replay.count; i++)
            replay.block.wheelbase_m[i] = drv_wheelbase_share * log->length_m[first + i];
        for (int32_t frame = 0; frame + 1 < log->frame_count; frame++)
            replay_step(config, log, frame, &replay, actions, bits);
    }
}
