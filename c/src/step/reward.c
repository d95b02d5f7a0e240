/* What reward does each agent get? A sum of named terms, each a weight times a fact of the step; exactly 0 for agents
 * that did not act. */
#include <math.h>

#include "step/phases.h"

/* Metres by which the agent came nearer to its goal in this step; 0 after the step in which it reached the goal. */
static float progress_m(const drv_world *world, int32_t agent) {
    if (world->had_goal[agent] && !world->goal_onset[agent]) return 0.0f;
    const float goal_x_m = world->goal_x_m[agent], goal_y_m = world->goal_y_m[agent];
    const float from_x_m = goal_x_m - world->previous_x_m[agent], from_y_m = goal_y_m - world->previous_y_m[agent];
    const float to_x_m = goal_x_m - world->x_m[agent], to_y_m = goal_y_m - world->y_m[agent];
    return sqrtf(from_x_m * from_x_m + from_y_m * from_y_m) - sqrtf(to_x_m * to_x_m + to_y_m * to_y_m);
}

/* The fact of each term, which its weight multiplies. A term of weight 0 is not computed. */
static float fact_of(const drv_world *world, int32_t agent, drv_term term) {
    switch (term) {
        case DRV_TERM_GOAL: return world->goal_onset[agent];
        case DRV_TERM_COLLISION: return world->collision_onset[agent];
        case DRV_TERM_OFFROAD: return world->offroad_onset[agent];
        case DRV_TERM_PROGRESS: return progress_m(world, agent);
        default: return 0.0f;
    }
}

void drv_reward_score(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
#define X(symbol, name, weight, when) [DRV_TERM_##symbol] = world->config->weight,
    const float weights[DRV_TERM_COUNT] = {DRV_REWARD_TERMS(X)};
#undef X
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        if (world->out.invalid_step[agent]) {
            world->out.rewards[agent] = 0.0f;
            continue;
        }
        float *trial_reward = world->trial_reward + agent * DRV_TERM_COUNT, sum = 0.0f;
        for (int32_t term = 0; term < DRV_TERM_COUNT; term++) {
            const float reward = weights[term] != 0.0f ? weights[term] * fact_of(world, agent, (drv_term)term) : 0.0f;
            sum += reward;
            trial_reward[term] += reward;
        }
        world->out.rewards[agent] = sum;
        world->last_reward[agent] = sum;
    }
}
