/* What is the reward of each agent? A sum of named terms, each a weight times a fact of the step; exactly 0 for agents
 * that did not act. */
#include "math/geometry.h"
#include "step/phases.h"

/* The fact that the weight of a term multiplies; not evaluated where nothing uses it. */
static float fact_of(const drv_world *world, int32_t agent, drv_term term) {
    const float dt_s = world->scene->dt_s;
    switch (term) {
        case DRV_TERM_GOAL: return world->goal_onset[agent];
        case DRV_TERM_COLLISION: return world->collision_onset[agent];
        case DRV_TERM_OFFROAD: return world->offroad_onset[agent];
        case DRV_TERM_PROGRESS: return world->progress_m[agent];
        case DRV_TERM_TIME: return dt_s;
        case DRV_TERM_REVERSE: return drv_larger(-world->speed_mps[agent], 0.0f) * dt_s;
        default: return 0.0f;
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
    const float weights[DRV_TERM_COUNT] = {DRV_REWARD_TERMS(X)};
#undef X
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        if (world->out.invalid_step[agent]) {
            world->out.rewards[agent] = 0.0f;
            continue;
        }
        float *trial_reward = world->trial_reward + agent * terms, sum = 0.0f;
        /* a loop of a constant length, which compilers unroll, and one over the terms that the config adds */
        for (int32_t i = 0; i < DRV_COMMON_TERMS; i++) sum += add_term(world, agent, i, weights[i], trial_reward + i);
        for (int32_t i = DRV_COMMON_TERMS; i < terms; i++)
            sum += add_term(world, agent, term_of[i], weights[term_of[i]], trial_reward + i);
        world->out.rewards[agent] = sum;
        world->last_reward[agent] = sum;
    }
    for (int32_t agent = 0; world->out.reward_terms && agent < world->sizes.agents; agent++)
        write_facts(world, agent, world->out.reward_terms + agent * DRV_TERM_COUNT);
}
