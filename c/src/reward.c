/* What is it worth? Named terms, each a weight times a fact of the step; rows that did not act get exactly 0. */
#include "phases.h"

void drv_reward_score(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_config *config = world->config;
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        if (world->out.invalid_step[row]) {
            world->out.rewards[row] = 0.0f;
            continue;
        }
        const float terms[DRV_REWARD_TERMS] = {
            [DRV_TERM_GOAL] = world->reached[row] ? config->reward_goal : 0.0f,
            [DRV_TERM_COLLISION] = world->hit[row] ? config->reward_collision : 0.0f,
            [DRV_TERM_OFFROAD] = world->crossed[row] ? config->reward_offroad : 0.0f,
        };
        float sum = 0.0f;
        for (int32_t term = 0; term < DRV_REWARD_TERMS; term++) {
            sum += terms[term];
            world->trial_reward[row * DRV_REWARD_TERMS + term] += terms[term];
        }
        world->out.rewards[row] = sum;
        world->last_reward[row] = sum;
    }
}
