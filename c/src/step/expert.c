/* Which actions replay a log? Each is the inverse of the dynamics, from the motion that the replay has reached to the
 * logged motion of the next frame. */
#include "step/expert.h"

#include "math/geometry.h"
#include "step/actions.h"
#include "step/dynamics.h"

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

/* Begins the replay of a vehicle with its logged motion; the rest of its state is as at the start of a trial. */
static void begin_replay(const drv_config *config, const drv_log *log, int64_t at, drv_motion_block *block, int32_t i) {
    drv_motion start = motion_at(log, at);
    start.speed_mps = drv_clip(start.speed_mps, config->min_speed_mps, config->max_speed_mps);
    set_motion(block, i, start);
    block->steering_rad[i] = block->acceleration_mps2[i] = 0.0f;
    block->yaw_rate_radps[i] = block->sideslip_rad[i] = 0.0f;
}

/* Sets `next` to the logged motion at the end of the step that begins with `frame`, and the bit VALID of each
 * vehicle. */
static void read_target(const drv_config *config, const drv_log *log, int32_t frame, log_replay *replay,
                        drv_motion_block *next, uint8_t *bits) {
    drv_motion_block_clear(next, config->friction);
    for (int32_t i = 0; i < replay->count; i++) {
        const int64_t at = (int64_t)frame * log->vehicle_count + replay->first + i, then = at + log->vehicle_count;
        const bool valid = log->valid[at] && log->valid[then];
        if (valid && !replay->continues[i]) begin_replay(config, log, at, &replay->block, i);
        if (valid) set_motion(next, i, motion_at(log, then));
        if (valid) next->yaw_rate_radps[i] = drv_wrap_angle(log->heading_rad[then] - log->heading_rad[at]) / log->dt_s;
        replay->continues[i] = valid;
        bits[i] = valid ? DRV_EXPERT_VALID : 0;
    }
}

/* Sets the control with which a vehicle of DRV_STATE stays where it is, at rest. */
static void stay(drv_motion_block *block, int32_t i) {
    block->control[0][i] = block->x_m[i];
    block->control[1][i] = block->y_m[i];
    block->control[2][i] = block->heading_rad[i];
}

/* Writes the actions of the step that begins with `frame`, and moves the vehicles by them. */
static void replay_step(const drv_config *config, const drv_action_space *space, const drv_log *log, int32_t frame,
                        log_replay *replay, drv_actions actions, uint8_t *bits) {
    const drv_dynamics_model *model = drv_dynamics_model_of(config->dynamics);
    const drv_motion_limits limits = drv_motion_limits_of(config);
    const int64_t first = (int64_t)frame * log->vehicle_count + replay->first;
    drv_motion_block next;
    uint8_t fit[DRV_MOTION_BLOCK];
    read_target(config, log, frame, replay, &next, bits + first);
    model->inverse(&replay->block, &next, limits, log->dt_s, fit);
    for (int32_t i = 0; i < replay->count; i++) {
        const bool valid = bits[first + i] & DRV_EXPERT_VALID;
        float *control = &replay->block.control[0][i];
        for (int32_t k = 0; !valid && k < space->dimensions; k++) control[k * DRV_MOTION_BLOCK] = 0.0f;
        if (!valid && config->dynamics == DRV_STATE) stay(&replay->block, i);
        if (valid && fit[i] & DRV_INVERSE_CLIPPED) bits[first + i] |= DRV_EXPERT_CLIPPED;
        if (valid && fit[i] & DRV_INVERSE_SLOW) bits[first + i] |= DRV_EXPERT_SLOW;
        drv_actions_write(actions, space, first + i, control, DRV_MOTION_BLOCK);
        drv_actions_control(actions, space, first + i, control, DRV_MOTION_BLOCK);
    }
    model->advance(&replay->block, limits, log->dt_s);
}

void drv_expert_write(const drv_config *config, const drv_log *log, drv_actions actions, uint8_t *bits) {
    const drv_action_space space = drv_action_space_of(config);
    for (int32_t first = 0; first < log->vehicle_count; first += DRV_MOTION_BLOCK) {
        const int32_t left = log->vehicle_count - first;
        log_replay replay = {.first = first, .count = left < DRV_MOTION_BLOCK ? left : DRV_MOTION_BLOCK};
        drv_motion_block_clear(&replay.block, config->friction);
        for (int32_t i = 0; i < replay.count; i++)
            replay.block.wheelbase_m[i] = drv_wheelbase_share * log->length_m[first + i];
        for (int32_t frame = 0; frame + 1 < log->frame_count; frame++)
            replay_step(config, &space, log, frame, &replay, actions, bits);
    }
}
