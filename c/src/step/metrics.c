/* What does a trial leave in the report? When the trial of a world ends, each of its agents gives one record of it; each
 * agent keeps one moving average per figure and trial index, seeded by its first record. */
#include "step/metrics.h"

#include "step/phases.h"

static void measure_trial(const drv_world *world, int32_t agent, float *record) {
    const float *terms = world->trial_reward + agent * DRV_TERM_COUNT;
    const float driven_s = (float)world->steps_driven[agent] * world->scene->dt_s;
    float reward = 0.0f;
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++) reward += terms[term];
#define X(symbol, name, value) record[METRIC_##symbol] = (float)(value);
    DRV_METRICS(X)
#undef X
#define X(symbol, name, weight, when) record[METRIC_REWARD_##symbol] = terms[DRV_TERM_##symbol];
    DRV_REWARD_TERMS(X)
#undef X
}

/* All agents of a world enter together, so that agents whose trial ended early never outweigh those that still drive:
 * until the restart each agent keeps the facts of its trial. */
void drv_metrics_add(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    if (*world->pending == DRV_GOES_ON) return;
    /* A trial that began with a part of its clock gone is shorter than the others. */
    if (*world->age_steps > 0) return;
    const double keep = world->config->log_ema_alpha;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        const int32_t place = agent * world->sizes.max_trials + *world->trial;
        float record[METRIC_COUNT];
        double *average = world->average + (int64_t)place * METRIC_COUNT;
        const bool seeds = world->trials[place]++ == 0;
        measure_trial(world, agent, record);
        for (int32_t metric = 0; metric < METRIC_COUNT; metric++) {
            const double value = (double)record[metric];
            average[metric] = seeds ? value : keep * average[metric] + (1.0 - keep) * value;
        }
    }
}
