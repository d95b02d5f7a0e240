/* What is it worth? Named terms, each a weight times a fact of the step; agents that did not act get exactly 0. */
#include <math.h>

#include "step/phases.h"

/* Metres by which the agent came nearer to its goal in this step; none once the trial's goal was reached before it. */
static float progress_m(const drv_world *world, int32_t agent) {
    if (world->had_goal[agent] && !world->goal_onset[agent]) return 0.0f;
    const float goal_x_m = world->scene->goal_x_m[agent], goal_y_m = world->scene->goal_y_m[agent];
    const float from_x_m = goal_x_m - world->previous_x_m[agent], from_y_m = goal_y_m - world->previous_y_m[agent];
    const float to_x_m = goal_x_m - world->x_m[agent], to_y_m = goal_y_m - world->y_m[agent];
    return sqrtf(from_x_m * from_x_m + from_y_m * from_y_m) - sqrtf(to_x_m * to_x_m + to_y_m * to_y_m);
}

void drv_reward_score(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_config *config = world->config;
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        if (world->out.invalid_step[agent]) {
            world->out.rewards[agent] = 0.0f;
            continue;
        }
        const float terms[DRV_REWARD_TERMS] = {
            [DRV_TERM_GOAL] = world->goal_onset[agent] ? config->reward_goal : 0.0f,
            [DRV_TERM_COLLISION] = world->collision_onset[agent] ? config->reward_collision : 0.0f,
            [DRV_TERM_OFFROAD] = world->offroad_onset[agent] ? config->reward_offroad : 0.0f,
            [DRV_TERM_PROGRESS] =
                config->reward_progress_per_m != 0.0f ? progress_m(world, agent) * config->reward_progress_per_m : 0.0f,
        };
        float sum = 0.0f;
        for (int32_t term = 0; term < DRV_REWARD_TERMS; term++) {
            sum += terms[term];
            world->trial_reward[agent * DRV_REWARD_TERMS + term] += terms[term];
        }
        world->out.rewards[agent] = sum;
        world->last_reward[agent] = sum;
    }
}
