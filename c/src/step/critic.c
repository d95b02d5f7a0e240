/* What does the critic of an agent observe besides the agent's own observation? */
#include <stdbool.h>
#include <string.h>

#include "math/geometry.h"
#include "step/goals.h"
#include "step/hidden.h"
#include "step/on_map.h"
#include "step/partners.h"
#include "step/phases.h"
#include "step/route_progress.h"
#include "step/sensors.h"
#include "step/weights.h"
#include "view/critic.h"
#include "view/layout.h"

_Static_assert((int)CRITIC_GOAL_DISTANCE - (int)CRITIC_GOAL_X == (int)EGO_GOAL_DISTANCE - (int)EGO_GOAL_X,
               "a critic observes the same features of a goal as its agent");

/* Writes the heading of an agent's goal, as a unit vector in the frame of another one. */
static void write_heading(const drv_world *world, int32_t of, int32_t agent, float *out) {
    const drv_point along = drv_goals_direction(world, of, drv_goals_current(world, of));
    const float c = world->cos_heading[agent], s = world->sin_heading[agent];
    out[0] = drv_clip(along.x * c + along.y * s, -1.0f, 1.0f);
    out[1] = drv_clip(along.y * c - along.x * s, -1.0f, 1.0f);
}

/* Writes the agent's own goal, time and route. */
static void write_own(const drv_world *world, int32_t agent, bool has_headings, float *out) {
    const int32_t steps = world->scene->trial_steps, past_steps = *world->clock_steps + *world->age_steps;
    const bool observes_time = world->config->time_left != DRV_TIME_LEFT_OFF;
    const drv_head_scales *head = &world->encoding->layout->head;
    drv_goals_write(head, drv_goals_in_frame(world, agent, agent), out + CRITIC_GOAL_X);
    out[CRITIC_TIME_LEFT] = observes_time ? (float)(steps - past_steps) / (float)steps : 0.0f;
    out[CRITIC_ROUTE_LEFT] = drv_clip(drv_route_left_m(world, agent) * head->scale[EGO_GOAL_DISTANCE], 0.0f, 1.0f);
    if (has_headings) write_heading(world, agent, agent, out + CRITIC_GOAL_HEADING_X);
}

/* Writes the goals of the vehicles in the agent's partner slots, in the order of these. Records that its sensors drop
 * are in no slot. */
static void write_partner_goals(const drv_world *world, int32_t agent, drv_scratch *scratch,
                                const drv_critic_offsets *at, float *out) {
    const float scale = world->encoding->layout->position_scale;
    const int32_t slots = world->config->partners;
    const drv_selection chosen = slots > 0 ? drv_partners_choose(world, agent, scratch) : (drv_selection){NULL, 0};
    memset(out, 0, (size_t)(slots * at->partner_goal_size) * sizeof *out);
    for (int32_t i = 0; i < chosen.count; i++) {
        if (drv_sensors_drop(world, agent, DRV_SET_PARTNERS, i)) continue;
        const int32_t vehicle = scratch->on_map.vehicle[chosen.index[i]];
        if (world->controller[vehicle] == DRV_CONTROLLER_AGENT) {
            const drv_point goal = drv_goals_in_frame(world, vehicle, agent);
            out[PARTNER_GOAL_X] = drv_clip(goal.x * scale, -1.0f, 1.0f);
            out[PARTNER_GOAL_Y] = drv_clip(goal.y * scale, -1.0f, 1.0f);
            out[PARTNER_GOAL_EXISTS] = 1.0f;
            if (at->has_headings) write_heading(world, vehicle, agent, out + PARTNER_GOAL_HEADING_X);
        }
        out += at->partner_goal_size;
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
        } else if (world->status[agent] == DRV_DRIVING || world->recorded[agent]) {
            /* one that stopped in an earlier step keeps its last observation, as in observe_write */
            write_own(world, agent, at.has_headings, out);
            if (world->sizes.has_hidden) drv_hidden_reveal(world, agent, out + at.hidden);
            if (world->sizes.has_weights) drv_weights_observe(world, agent, out + at.weights);
            write_partner_goals(world, agent, scratch, &at, out + at.partner_goals);
        }
    }
}
