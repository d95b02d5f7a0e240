/* What is the reward of each agent? A sum of named terms, each a weight times a fact of the step; exactly 0 for agents
 * that did not act. */
#include <math.h>

#include "math/geometry.h"
#include "step/lane.h"
#include "step/phases.h"
#include "step/proximity.h"
#include "step/stopping.h"

/* Accelerations and jerk up to these are comfortable; published with the comfort reward of GIGAFLOW. */
static const float comfortable_mps2 = 3.0f, comfortable_mps3 = 5.0f;

/* The number of comfort limits that the agent exceeds. */
static int32_t exceeded_limits(const drv_world *world, int32_t agent) {
    return (fabsf(world->acceleration_mps2[agent]) > comfortable_mps2) +
           (fabsf(world->lateral_mps2[agent]) > comfortable_mps2) + (world->jerk_mps3[agent] > comfortable_mps3);
}

/* The distance of an agent from where its log has it at the end of the step; 0 where the log is not valid, and once the
 * agent has respawned, where its log does not lead. */
static float distance_to_log_m(const drv_world *world, int32_t agent) {
    const drv_scene *scene = world->scene;
    const int32_t frame = *world->clock_steps; /* trial_judge has counted the step */
    if (frame >= scene->agent_log_frames) return 0.0f;
    const int64_t at = (int64_t)frame * scene->num_agents + agent;
    const bool has_respawned = world->sizes.respawn_agents > 0 && world->respawns[agent] > 0;
    if (!scene->agent_log_valid[at] || has_respawned) return 0.0f;
    const float dx = world->x_m[agent] - scene->agent_log_x_m[at], dy = world->y_m[agent] - scene->agent_log_y_m[at];
    return sqrtf(dx * dx + dy * dy);
}

/* The fact of a term that only some batches have. In a function of its own, so that compilers unroll the loop over the
 * others. */
static float optional_fact(const drv_world *world, int32_t agent, drv_term term) {
    const float dt_s = world->scene->dt_s, speed_mps = world->speed_mps[agent];
    switch (term) {
        case DRV_TERM_TIME: return dt_s;
        case DRV_TERM_REVERSE: return drv_larger(-speed_mps, 0.0f) * dt_s;
        case DRV_TERM_LANE_ALIGNMENT: return world->lane_cos_error[agent] * dt_s;
        case DRV_TERM_LANE_OFFSET: return fabsf(world->lane_offset_m[agent]) * dt_s;
        case DRV_TERM_WRONG_WAY: return drv_larger(-speed_mps * world->lane_cos_error[agent], 0.0f) * dt_s;
        case DRV_TERM_OVER_SPEED: return drv_lane_over_speed(world, agent) * dt_s;
        case DRV_TERM_DISCOMFORT: return (float)exceeded_limits(world, agent) * dt_s;
        case DRV_TERM_TIME_TO_COLLISION:
            return (1.0f - world->time_to_collision_s[agent] / drv_collision_horizon_s) * dt_s;
        case DRV_TERM_DISTANCE_TO_LOG: return distance_to_log_m(world, agent) * dt_s;
        case DRV_TERM_ROUTE_PROGRESS: return world->route_progress_m[agent];
        case DRV_TERM_RED_LIGHT: return drv_has_traffic_controls(world) ? world->red_light_onset[agent] : 0.0f;
        case DRV_TERM_STOP_SIGN: return drv_has_traffic_controls(world) ? world->stop_sign_onset[agent] : 0.0f;
        default: return 0.0f;
    }
}

/* The fact that the weight of a term multiplies; not evaluated where nothing uses it. */
static float fact_of(const drv_world *world, int32_t agent, drv_term term) {
    switch (term) {
        case DRV_TERM_GOAL: return world->goal_onset[agent];
        case DRV_TERM_COLLISION: return world->collision_onset[agent];
        case DRV_TERM_OFFROAD: return world->offroad_onset[agent];
        case DRV_TERM_PROGRESS: return world->progress_m[agent];
        default: return optional_fact(world, agent, term);
    }
}

/* Adds a term to its sum over the trial; returns it. */
static float add_term(const drv_world *world, int32_t agent, int32_t term, float weight, float *sum) {
    const float reward = weight != 0.0f ? weight * fact_of(world, agent, (drv_term)term) : 0.0f;
    *sum += reward;
    return reward;
}

/* Writes the fact of every term. */
static void write_facts(const drv_world *world, int32_t agent, float *facts) {
    const bool acted = !world->out.invalid_step[agent];
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++)
        facts[term] = acted ? fact_of(world, agent, (drv_term)term) : 0.0f;
}

void drv_reward_score(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const int32_t terms = world->sizes.terms, *term_of = world->columns->term;
#define X(symbol, name, weight, when, shown) [DRV_TERM_##symbol] = world->config->weight,
    const float of_config[DRV_TERM_COUNT] = {DRV_REWARD_TERMS(X)};
#undef X
    const float *weights = of_config;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        if (world->out.invalid_step[agent]) {
            world->out.rewards[agent] = 0.0f;
            continue;
        }
        float *trial_reward = world->trial_reward + agent * terms, sum = 0.0f;
        if (world->sizes.has_weights) weights = world->reward_weight + agent * DRV_TERM_COUNT;
        /* a loop of a constant length, which compilers unroll, and one over the terms that the config adds */
        for (int32_t i = 0; i < DRV_COMMON_TERMS; i++) sum += add_term(world, agent, i, weights[i], trial_reward + i);
        for (int32_t i = DRV_COMMON_TERMS; i < terms; i++)
            sum += add_term(world, agent, term_of[i], weights[term_of[i]], trial_reward + i);
        world->out.rewards[agent] = sum;
        world->last_reward[agent] = sum;
    }
    for (int32_t agent = 0; world->out.reward_terms && agent < world->sizes.agents; agent++)
        write_facts(world, agent, world->out.reward_terms + agent * DRV_TERM_COUNT);
    if (world->sizes.own_reward_agents > 0) *world->reward_is_due = 1;
}

/* ---- rewards of the caller ---- */

void drv_reward_begin(drv_world *world) {
    for (int32_t agent = 0; agent < world->sizes.own_reward_agents; agent++) world->own_reward[agent] = 0.0f;
    if (world->sizes.own_reward_agents > 0) *world->reward_is_due = 0;
}

/* `trial/reward` of observations stays the reward of the config. The caller's rewards therefore change no observation,
 * and a policy that was trained with them is evaluated without them. */
void drv_reward_replace(drv_world *world, const float *rewards, drv_scratch *scratch) {
    if (!*world->reward_is_due) return;
    *world->reward_is_due = 0;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        if (world->out.invalid_step[agent]) continue;
        world->out.rewards[agent] = rewards[agent];
        world->own_reward[agent] += rewards[agent];
    }
    drv_metrics_add(world, scratch);
}
