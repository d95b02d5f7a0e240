/* What does a trial add to the report? When the trial of a world ends, the values of each agent are added to moving
 * averages, one per metric and trial index, and to a record where the world holds records. */
#include "step/metrics.h"

#include <string.h>

#include "step/coplayers.h"
#include "step/details.h"
#include "step/phases.h"

/* Writes the values in the order of drv_metric_names. */
static void values_of_trial(const drv_world *world, int32_t agent, float *values) {
    const float *terms = world->trial_reward + agent * world->sizes.terms;
    /* Every agent drives in the first step of a trial; a state that a caller loads may say otherwise. */
    const float steps = drv_larger((float)world->steps_driven[agent], 1.0f), driven_s = steps * world->scene->dt_s;
    float reward = 0.0f;
    const drv_config *config = world->config;
    (void)config; /* unused where no row has a condition */
    for (int32_t i = 0; i < world->sizes.terms; i++) reward += terms[i];
    if (world->sizes.own_reward_agents > 0) reward = world->own_reward[agent];
#define X(symbol, name, shown, value) \
    if (shown) *values++ = (float)(value);
    DRV_METRICS(X)
#undef X
    memcpy(values, terms, (size_t)world->sizes.terms * sizeof *values);
}

/* Updates the exponential moving average of each metric; the first trial sets it. The trials of an agent as a co-player
 * have averages of their own. */
static void add_to_averages(drv_world *world, int32_t agent, const float *values) {
    const int32_t index = agent * world->sizes.max_trials + *world->trial;
    const double alpha = world->config->log_ema_alpha;
    const bool is_coplayer = drv_is_coplayer(world, agent);
    double *average =
        (is_coplayer ? world->coplayer_average : world->average) + (int64_t)index * world->sizes.metrics;
    const bool is_first = (is_coplayer ? world->coplayer_trials : world->trials)[index]++ == 0;
    for (int32_t metric = 0; metric < world->sizes.metrics; metric++) {
        const double value = (double)values[metric];
        average[metric] = is_first ? value : alpha * average[metric] + (1.0 - alpha) * value;
    }
}

static void store_record(drv_world *world, int32_t agent, const float *values) {
    const int64_t index = (int64_t)*world->record_count * world->sizes.agents + agent;
    world->record_outcome[index] = world->outcome[agent];
    if (world->sizes.coplayer_agents > 0) world->record_coplayer[index] = world->coplayer[agent];
    const int64_t metrics = world->sizes.metrics;
    memcpy(world->record_values + index * metrics, values, (size_t)metrics * sizeof *values);
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
    /* The caller has not rewarded the step yet; drv_reward_replace calls this again once it has. */
    if (world->sizes.own_reward_agents > 0 && *world->reward_is_due) return;
    /* A trial whose clock began at an offset is shorter than the others, and is not counted. */
    if (*world->age_steps > 0) return;
    const bool records = world->sizes.record_capacity > 0;
    const bool keeps = records && *world->record_count < world->sizes.record_capacity;
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        float values[METRIC_LIMIT];
        values_of_trial(world, agent, values);
        add_to_averages(world, agent, values);
        if (keeps) store_record(world, agent, values);
    }
    if (keeps) close_record(world);
    else if (records) *world->records_lost += world->scene->num_agents;
}
