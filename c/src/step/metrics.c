/* What does a trial add to the report? When the trial of a world ends, the figures of each agent enter one moving
 * average per figure and trial index, seeded by the first trial, and a record where the world holds records. */
#include "step/metrics.h"

#include <string.h>

#include "step/phases.h"

static void measure_trial(const drv_world *world, int32_t agent, float *figures) {
    const float *terms = world->trial_reward + agent * DRV_TERM_COUNT;
    const float driven_s = (float)world->steps_driven[agent] * world->scene->dt_s;
    float reward = 0.0f;
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++) reward += terms[term];
#define X(symbol, name, value) figures[METRIC_##symbol] = (float)(value);
    DRV_METRICS(X)
#undef X
#define X(symbol, name, weight, when) figures[METRIC_REWARD_##symbol] = terms[DRV_TERM_##symbol];
    DRV_REWARD_TERMS(X)
#undef X
}

static void average_figures(drv_world *world, int32_t agent, const float *figures) {
    const int32_t index = agent * world->sizes.max_trials + *world->trial;
    const double keep = world->config->log_ema_alpha;
    double *average = world->average + (int64_t)index * METRIC_COUNT;
    const bool seeds = world->trials[index]++ == 0;
    for (int32_t metric = 0; metric < METRIC_COUNT; metric++) {
        const double value = (double)figures[metric];
        average[metric] = seeds ? value : keep * average[metric] + (1.0 - keep) * value;
    }
}

static void keep_record(drv_world *world, int32_t agent, const float *figures) {
    const int64_t index = (int64_t)*world->record_count * world->sizes.agents + agent;
    world->record_outcome[index] = world->outcome[agent];
    memcpy(world->record_figures + index * METRIC_COUNT, figures, METRIC_COUNT * sizeof *figures);
}

/* The world holds one more finished trial. */
static void close_record(drv_world *world) {
    const int32_t index = (*world->record_count)++;
    world->record_episode[index] = *world->episode;
    world->record_scene[index] = *world->scene_index;
    world->record_trial[index] = *world->trial;
}

/* All agents of a world enter together, so that agents whose trial ended early never outweigh those that still drive:
 * until the restart each agent keeps the facts of its trial. */
void drv_metrics_add(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    if (*world->pending == DRV_GOES_ON) return;
    /* A trial that began with a part of its clock gone is shorter than the others. */
    if (*world->age_steps > 0) return;
    const bool records = world->sizes.record_capacity > 0;
    const bool keeps = records && *world->record_count < world->sizes.record_capacity;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        float figures[METRIC_COUNT];
        measure_trial(world, agent, figures);
        average_figures(world, agent, figures);
        if (keeps) keep_record(world, agent, figures);
    }
    if (keeps) close_record(world);
    else if (records) *world->records_lost += world->scene->num_agents;
}
