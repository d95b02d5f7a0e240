/* What does the critic of an agent observe besides the agent's own observation? */
#include <math.h>
#include <string.h>

#include "math/geometry.h"
#include "step/hidden.h"
#include "step/on_map.h"
#include "step/partners.h"
#include "step/phases.h"
#include "step/sensors.h"
#include "step/weights.h"
#include "view/critic.h"
#include "view/layout.h"

/* The goal of an agent in the frame of another, or of itself. */
static drv_point goal_in_frame_of(const drv_world *world, int32_t goal_of, int32_t agent) {
    const float dx = world->goal_x_m[goal_of] - world->x_m[agent], dy = world->goal_y_m[goal_of] - world->y_m[agent];
    const float c = world->cos_heading[agent], s = world->sin_heading[agent];
    return (drv_point){dx * c + dy * s, dy * c - dx * s};
}

static float in_unit_range(float value) { return drv_clip(value, -1.0f, 1.0f); }

/* Writes the agent's own goal and time. */
static void write_own(const drv_world *world, int32_t agent, float *out) {
    const float position_scale = world->encoding->layout->position_scale;
    const float distance_scale = drv_layout_scale(world->config, SCALE_DISTANCE);
    const drv_point goal = goal_in_frame_of(world, agent, agent);
    const float goal_m = sqrtf(goal.x * goal.x + goal.y * goal.y), per_m = goal_m > 0.0f ? 1.0f / goal_m : 0.0f;
    const int32_t steps = world->scene->trial_steps, past_steps = *world->clock_steps + *world->age_steps;
    const bool observes_time = world->config->time_left != DRV_TIME_LEFT_OFF;
    out[CRITIC_GOAL_X] = in_unit_range(goal.x * position_scale);
    out[CRITIC_GOAL_Y] = in_unit_range(goal.y * position_scale);
    out[CRITIC_GOAL_DIRECTION_X] = in_unit_range(goal.x * per_m);
    out[CRITIC_GOAL_DIRECTION_Y] = in_unit_range(goal.y * per_m);
    out[CRITIC_GOAL_DISTANCE] = drv_smaller(goal_m * distance_scale, 1.0f);
    out[CRITIC_TIME_LEFT] = observes_time ? (float)(steps - past_steps) / (float)steps : 0.0f;
}

/* Writes the goals of the vehicles in the agent's partner slots, in the order of these. Records that its sensors drop
 * are in no slot. */
static void write_partner_goals(const drv_world *world, int32_t agent, drv_scratch *scratch, float *out) {
    const float scale = world->encoding->layout->position_scale;
    const int32_t slots = world->config->partners;
    const drv_selection chosen = slots > 0 ? drv_partners_choose(world, agent, scratch) : (drv_selection){NULL, 0};
    memset(out, 0, (size_t)(slots * PARTNER_GOAL_COUNT) * sizeof *out);
    for (int32_t i = 0; i < chosen.count; i++) {
        if (drv_sensors_drop(world, agent, DRV_SET_PARTNERS, i)) continue;
        const int32_t vehicle = scratch->on_map.vehicle[chosen.index[i]];
        if (world->controller[vehicle] == DRV_CONTROLLER_AGENT) {
            const drv_point goal = goal_in_frame_of(world, vehicle, agent);
            out[PARTNER_GOAL_X] = in_unit_range(goal.x * scale);
            out[PARTNER_GOAL_Y] = in_unit_range(goal.y * scale);
            out[PARTNER_GOAL_EXISTS] = 1.0f;
        }
        out += PARTNER_GOAL_COUNT;
    }
}

void drv_critic_write(drv_world *world, drv_scratch *scratch) {
    if (!world->config->critic_observations) return;
    const drv_critic_offsets at = drv_critic_offsets_of(world->config);
    drv_on_map_list(world, scratch);
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        float *out = world->out.critic_observations + (int64_t)agent * at.size;
        if (world->status[agent] == DRV_REMOVED || world->status[agent] == DRV_ABSENT) {
            memset(out, 0, (size_t)at.size * sizeof *out);
        } else if (world->status[agent] == DRV_DRIVING || !world->out.invalid_step[agent]) {
            /* one that stopped in an earlier step keeps its last, as in observe_write */
            write_own(world, agent, out);
            if (world->sizes.has_hidden) drv_hidden_reveal(world, agent, out + at.hidden);
            if (world->sizes.has_weights) drv_weights_observe(world, agent, out + at.weights);
            write_partner_goals(world, agent, scratch, out + at.partner_goals);
        }
    }
}
