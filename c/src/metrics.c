/* What is a trial worth remembering? Each row keeps one moving average a figure and trial index, seeded by its first
 * value. */
#include "phases.h"

static void measure_trial(const drv_world *world, int32_t row, float *figures) {
    const float *reward = world->trial_reward + row * DRV_REWARD_TERMS;
    const float driven_s = (float)world->steps_driven[row] * world->scene->dt_s;
    figures[DRV_METRIC_SCORE] = world->scored[row];
    figures[DRV_METRIC_GOAL] = world->had_goal[row];
    figures[DRV_METRIC_COLLISION] = world->had_collision[row];
    figures[DRV_METRIC_OFFROAD] = world->had_offroad[row];
    figures[DRV_METRIC_TIMEOUT] = world->outcome[row] == DRV_OUTCOME_TIMEOUT;
    figures[DRV_METRIC_TRIAL_LENGTH] = (float)world->steps_driven[row];
    figures[DRV_METRIC_DISTANCE] = world->distance_m[row];
    figures[DRV_METRIC_MEAN_SPEED] = world->distance_m[row] / driven_s;
    figures[DRV_METRIC_REWARD] =
        reward[DRV_TERM_GOAL] + reward[DRV_TERM_COLLISION] + reward[DRV_TERM_OFFROAD] + reward[DRV_TERM_PROGRESS];
    figures[DRV_METRIC_REWARD_GOAL] = reward[DRV_TERM_GOAL];
    figures[DRV_METRIC_REWARD_COLLISION] = reward[DRV_TERM_COLLISION];
    figures[DRV_METRIC_REWARD_OFFROAD] = reward[DRV_TERM_OFFROAD];
    figures[DRV_METRIC_REWARD_PROGRESS] = reward[DRV_TERM_PROGRESS];
}

void drv_metrics_add(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    /* A trial that began with a part of its clock gone is not like the others. */
    if (*world->age_steps > 0) return;
    const float keep = world->config->log_ema_alpha;
    for (int32_t row = 0; row < world->scene->row_count; row++) {
        if (!world->booked[row]) continue;
        const int32_t place = row * world->sizes.max_trials + *world->trial;
        float figures[DRV_METRIC_COUNT], *average = world->average + (int64_t)place * DRV_METRIC_COUNT;
        const bool seeds = world->trials[place]++ == 0;
        measure_trial(world, row, figures);
        for (int32_t metric = 0; metric < DRV_METRIC_COUNT; metric++)
            average[metric] = seeds ? figures[metric] : keep * average[metric] + (1.0f - keep) * figures[metric];
    }
}
