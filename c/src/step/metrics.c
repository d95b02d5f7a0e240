/* What is a trial worth remembering? When the trial of a world ends, each of its agents gives one record of it; each
 * agent keeps one moving average a figure and trial index, seeded by its first record. */
#include "step/phases.h"

static void measure_trial(const drv_world *world, int32_t agent, float *record) {
    const float *reward = world->trial_reward + agent * DRV_REWARD_TERMS;
    const float driven_s = (float)world->steps_driven[agent] * world->scene->dt_s;
    record[DRV_METRIC_SCORE] = world->scored[agent];
    record[DRV_METRIC_GOAL] = world->had_goal[agent];
    record[DRV_METRIC_COLLISION] = world->had_collision[agent];
    record[DRV_METRIC_OFFROAD] = world->had_offroad[agent];
    record[DRV_METRIC_TIMEOUT] = world->outcome[agent] == DRV_OUTCOME_TIMEOUT;
    record[DRV_METRIC_TRIAL_LENGTH] = (float)world->steps_driven[agent];
    record[DRV_METRIC_DISTANCE] = world->distance_m[agent];
    record[DRV_METRIC_MEAN_SPEED] = world->distance_m[agent] / driven_s;
    record[DRV_METRIC_REWARD] =
        reward[DRV_TERM_GOAL] + reward[DRV_TERM_COLLISION] + reward[DRV_TERM_OFFROAD] + reward[DRV_TERM_PROGRESS];
    record[DRV_METRIC_REWARD_GOAL] = reward[DRV_TERM_GOAL];
    record[DRV_METRIC_REWARD_COLLISION] = reward[DRV_TERM_COLLISION];
    record[DRV_METRIC_REWARD_OFFROAD] = reward[DRV_TERM_OFFROAD];
    record[DRV_METRIC_REWARD_PROGRESS] = reward[DRV_TERM_PROGRESS];
}

/* All agents of a world enter together, so that those whose trial was over early never outweigh those that still
 * drive: until the restart each keeps what its trial has brought it. */
void drv_metrics_add(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    if (*world->pending == DRV_GOES_ON) return;
    /* A trial that began with a part of its clock gone is not like the others. */
    if (*world->age_steps > 0) return;
    const double keep = world->config->log_ema_alpha;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        const int32_t place = agent * world->sizes.max_trials + *world->trial;
        float record[DRV_METRIC_COUNT];
        double *average = world->average + (int64_t)place * DRV_METRIC_COUNT;
        const bool seeds = world->trials[place]++ == 0;
        measure_trial(world, agent, record);
        for (int32_t metric = 0; metric < DRV_METRIC_COUNT; metric++) {
            const double value = (double)record[metric];
            average[metric] = seeds ? value : keep * average[metric] + (1.0 - keep) * value;
        }
    }
}
