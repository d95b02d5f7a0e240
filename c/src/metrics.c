/* What do we report? Each row keeps one moving average a figure and trial index, seeded by its first trial. */
#include "metrics.h"

#include "phases.h"

static const char *const names[DRV_METRIC_COUNT] = {
    [DRV_METRIC_SCORE] = "score",
    [DRV_METRIC_GOAL] = "goal",
    [DRV_METRIC_COLLISION] = "collision",
    [DRV_METRIC_OFFROAD] = "offroad",
    [DRV_METRIC_TIMEOUT] = "timeout",
    [DRV_METRIC_TRIAL_LENGTH] = "trial_length",
    [DRV_METRIC_DISTANCE] = "distance_m",
    [DRV_METRIC_MEAN_SPEED] = "mean_speed_mps",
    [DRV_METRIC_REWARD] = "reward",
    [DRV_METRIC_REWARD_GOAL] = "reward_goal",
    [DRV_METRIC_REWARD_COLLISION] = "reward_collision",
    [DRV_METRIC_REWARD_OFFROAD] = "reward_offroad",
};

int32_t drv_metric_count(void) { return DRV_METRIC_COUNT; }

const char *drv_metric_name(int32_t metric) { return metric >= 0 && metric < DRV_METRIC_COUNT ? names[metric] : ""; }

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
    figures[DRV_METRIC_REWARD] = reward[0] + reward[1] + reward[2];
    figures[DRV_METRIC_REWARD_GOAL] = reward[0];
    figures[DRV_METRIC_REWARD_COLLISION] = reward[1];
    figures[DRV_METRIC_REWARD_OFFROAD] = reward[2];
}

void drv_metrics_add(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    /* A trial that began with a part of its clock gone is not like the others. */
    if (*world->age_steps > 0) return;
    const float keep = world->config->log_ema_alpha;
    for (int32_t row = 0; row < world->scene->row_count; row++) {
        if (!world->booked[row]) continue;
        const int32_t slot = row * world->sizes.max_trials + *world->trial;
        float figures[DRV_METRIC_COUNT], *average = world->average + (int64_t)slot * DRV_METRIC_COUNT;
        const bool seeds = world->trials[slot]++ == 0;
        measure_trial(world, row, figures);
        for (int32_t metric = 0; metric < DRV_METRIC_COUNT; metric++)
            average[metric] = seeds ? figures[metric] : keep * average[metric] + (1.0f - keep) * figures[metric];
    }
}

static void add(drv_mean *mean, double value) {
    mean->sum += value;
    mean->n++;
}

static double average_of(const drv_world *world, int32_t row, int32_t trial, int32_t metric) {
    return (double)world->average[((int64_t)row * world->sizes.max_trials + trial) * DRV_METRIC_COUNT + metric];
}

static bool has_data(const drv_world *world, int32_t row, int32_t trial) {
    return world->trials[row * world->sizes.max_trials + trial] > 0;
}

void drv_metrics_gather(const drv_world *world, int32_t metric, int32_t trial, drv_mean *mean) {
    for (int32_t row = 0; row < world->sizes.rows; row++) {
        const int32_t first = trial < 0 ? 0 : trial, end = trial < 0 ? world->sizes.max_trials : trial + 1;
        drv_mean own = {0.0, 0};
        for (int32_t k = first; k < end; k++)
            if (has_data(world, row, k)) add(&own, average_of(world, row, k, metric));
        if (own.n > 0) add(mean, own.sum / (double)own.n);
    }
}

void drv_metrics_gather_adaptation(const drv_world *world, int32_t trial, drv_mean *mean) {
    for (int32_t row = 0; row < world->sizes.rows; row++)
        if (has_data(world, row, 0) && has_data(world, row, trial))
            add(mean, average_of(world, row, trial, DRV_METRIC_SCORE) - average_of(world, row, 0, DRV_METRIC_SCORE));
}

int64_t drv_metrics_trials(const drv_world *world) {
    int64_t sum = 0;
    for (int32_t slot = 0; slot < world->sizes.rows * world->sizes.max_trials; slot++) sum += world->trials[slot];
    return sum;
}
