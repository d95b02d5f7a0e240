/* What does a trial add to the report? When the trial of a world ends, the figures of each agent are added to moving
 * averages, one per figure and trial index, and to a record where the world holds records. */
#include "step/metrics.h"

#include <string.h>

#include "step/phases.h"

static void figures_of_trial(const drv_world *world, int32_t agent, float *figures) {
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

/* Exponential moving average per figure; the first trial sets it. */
static void add_to_averages(drv_world *world, int32_t agent, const float *figures) {
    const int32_t index = agent * world->sizes.max_trials + *world->trial;
    const double alpha = world->config->log_ema_alpha;
    double *average = world->average + (int64_t)index * METRIC_COUNT;
    const bool is_first = world->trials[index]++ == 0;
    for (int32_t metric = 0; metric < METRIC_COUNT; metric++) {
        const double value = (double)figures[metric];
        average[metric] = is_first ? value : alpha * average[metric] + (1.0 - alpha) * value;
    }
}

static void store_record(drv_world *world, int32_t agent, const float *figures) {
    const int64_t index = (int64_t)*world->record_count * world->sizes.agents + agent;
    world->record_outcome[index] = world->outcome[agent];
    memcpy(world->record_figures + index * METRIC_COUNT, figures, METRIC_COUNT * sizeof *figures);
}

/* Completes the records of a trial by what its agents share. */
static void close_record(drv_world *world) {
    const int32_t index = (*world->record_count)++;
    world->record_episode[index] = *world->episode;
    world->record_scene[index] = *world->scene_index;
    world->record_trial[index] = *world->trial;
}

/* All agents of a world are added in the step that ends the trial, so that short trials never outweigh long ones. An
 * agent that stopped earlier keeps the facts of its trial until then. */
void drv_metrics_add(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    if (*world->pending == DRV_GOES_ON) return;
    /* A trial whose clock began at an offset is shorter than the others, and is not counted. */
    if (*world->age_steps > 0) return;
    const bool records = world->sizes.record_capacity > 0;
    const bool keeps = records && *world->record_count < world->sizes.record_capacity;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        float figures[METRIC_COUNT];
        figures_of_trial(world, agent, figures);
        add_to_averages(world, agent, figures);
        if (keeps) store_record(world, agent, figures);
    }
    if (keeps) close_record(world);
    else if (records) *world->records_lost += world->scene->num_agents;
}
