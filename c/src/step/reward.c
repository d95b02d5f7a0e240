/* What is the reward of each agent? A sum of named terms, each a weight times a fact of the step; exactly 0 for agents
 * that did not act. */
#include "step/phases.h"

/* The fact that the weight of a term multiplies; not evaluated where the weight is 0. */
static float fact_of(const drv_world *world, int32_t agent, drv_term term) {
    switch (term) {
        case DRV_TERM_GOAL: return world->goal_onset[agent];
        case DRV_TERM_COLLISION: return world->collision_onset[agent];
        case DRV_TERM_OFFROAD: return world->offroad_onset[agent];
        case DRV_TERM_PROGRESS: return world->progress_m[agent];
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
