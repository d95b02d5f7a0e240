/* What do we report? Means over agents of what metrics.c keeps for each. */
#include "batch/report.h"

#include "step/phases.h"

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
    [DRV_METRIC_REWARD_PROGRESS] = "reward_progress",
};

static const char *const phase_names[DRV_PHASE_COUNT] = {
    [TRIAL_RESTART] = "trial_restart",
    [TRAFFIC_PLAN] = "traffic_plan",
    [DYNAMICS_INTEGRATE] = "dynamics_integrate",
    [EVENTS_DETECT] = "events_detect",
    [TRIAL_JUDGE] = "trial_judge",
    [REWARD_SCORE] = "reward_score",
    [METRICS_ADD] = "metrics_add",
    [OBSERVE_WRITE] = "observe_write",
};

int32_t drv_phase_count(void) { return DRV_PHASE_COUNT; }

const char *drv_phase_name(int32_t phase) { return phase >= 0 && phase < DRV_PHASE_COUNT ? phase_names[phase] : ""; }

int32_t drv_metric_count(void) { return DRV_METRIC_COUNT; }

const char *drv_metric_name(int32_t metric) { return metric >= 0 && metric < DRV_METRIC_COUNT ? names[metric] : ""; }

static void add(drv_mean *mean, double value) {
    mean->sum += value;
    mean->n++;
}

static double average_of(const drv_world *world, int32_t agent, int32_t trial, int32_t metric) {
    return world->average[((int64_t)agent * world->sizes.max_trials + trial) * DRV_METRIC_COUNT + metric];
}

static bool has_data(const drv_world *world, int32_t agent, int32_t trial) {
    return world->trials[agent * world->sizes.max_trials + trial] > 0;
}

void drv_report_metric(const drv_world *world, int32_t metric, int32_t trial, drv_mean *mean) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const int32_t first = trial < 0 ? 0 : trial, end = trial < 0 ? world->sizes.max_trials : trial + 1;
        drv_mean own = {0.0, 0};
        for (int32_t k = first; k < end; k++)
            if (has_data(world, agent, k)) add(&own, average_of(world, agent, k, metric));
        if (own.n > 0) add(mean, own.sum / (double)own.n);
    }
}

void drv_report_adaptation(const drv_world *world, int32_t trial, drv_mean *mean) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++)
        if (has_data(world, agent, 0) && has_data(world, agent, trial))
            add(mean, average_of(world, agent, trial, DRV_METRIC_SCORE) - average_of(world, agent, 0, DRV_METRIC_SCORE));
}

int64_t drv_report_trials(const drv_world *world) {
    int64_t sum = 0;
    for (int32_t place = 0; place < world->sizes.agents * world->sizes.max_trials; place++) sum += world->trials[place];
    return sum;
}
