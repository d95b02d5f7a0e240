/* What is it worth? Named terms, each a weight times a fact of the step; rows that did not act get exactly 0. */
#include <math.h>

#include "phases.h"

/* Metres by which the row came nearer to its goal in this step; none once the trial's goal was reached before it. */
static float progress_m(const drv_world *world, int32_t row) {
    if (world->had_goal[row] && !world->reached[row]) return 0.0f;
    const float goal_x_m = world->scene->goal_x_m[row], goal_y_m = world->scene->goal_y_m[row];
    const float from_x_m = goal_x_m - world->before_x_m[row], from_y_m = goal_y_m - world->before_y_m[row];
    const float to_x_m = goal_x_m - world->x_m[row], to_y_m = goal_y_m - world->y_m[row];
    return sqrtf(from_x_m * from_x_m + from_y_m * from_y_m) - sqrtf(to_x_m * to_x_m + to_y_m * to_y_m);
}

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
            [DRV_TERM_PROGRESS] =
                config->reward_progress_per_m != 0.0f ? progress_m(world, row) * config->reward_progress_per_m : 0.0f,
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
