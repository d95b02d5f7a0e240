/* What does a batch report? Means over agents of the moving averages of step/metrics.c, and the time of each phase. */
#include <math.h>
#include <string.h>

#include "batch/batch.h"
#include "platform/error.h"
#include "platform/fp_env.h"

static const char *const phase_names[DRV_PHASE_COUNT] = {
#define X(name, meaning) [DRV_PHASE_##name] = #name,
    DRV_PHASES(X)
#undef X
};

int32_t drv_phase_count(void) { return DRV_PHASE_COUNT; }

const char *drv_phase_name(int32_t phase) { return phase >= 0 && phase < DRV_PHASE_COUNT ? phase_names[phase] : ""; }

/* ---- means over agents ---- */

typedef struct mean {
    double sum;
    int64_t n;
} mean;

static void add(mean *to, double value) {
    to->sum += value;
    to->n++;
}

static drv_metric_value metric_value_of(mean found) {
    return (drv_metric_value){found.n > 0 ? found.sum / (double)found.n : (double)NAN, found.n};
}

/* A world with the averages of the agents that a report is of. */
static drv_world world_for(const drv_batch *batch, int32_t number, drv_report_of of) {
    drv_world world = drv_batch_world(batch, number);
    if (of == DRV_OF_COPLAYERS) {
        world.average = world.coplayer_average;
        world.trials = world.coplayer_trials;
        world.sizes.agents = world.sizes.coplayer_agents;
    }
    return world;
}

static double average_of(const drv_world *world, int32_t agent, int32_t trial, int32_t metric) {
    return world->average[((int64_t)agent * world->sizes.max_trials + trial) * world->sizes.metrics + metric];
}

static bool has_data(const drv_world *world, int32_t agent, int32_t trial) {
    return world->trials[agent * world->sizes.max_trials + trial] > 0;
}

/* Adds the metric of each agent of a world that has data: in one trial, or, if `trial` is -1, the mean over trials. */
static void add_metric(const drv_world *world, int32_t metric, int32_t trial, mean *to) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const int32_t first = trial < 0 ? 0 : trial, end = trial < 0 ? world->sizes.max_trials : trial + 1;
        mean own = {0.0, 0};
        for (int32_t k = first; k < end; k++)
            if (has_data(world, agent, k)) add(&own, average_of(world, agent, k, metric));
        if (own.n > 0) add(to, own.sum / (double)own.n);
    }
}

/* Adds, for each agent that has both, the score in `trial` minus that in trial 0. */
static void add_adaptation(const drv_world *world, int32_t trial, mean *to) {
    for (int32_t agent = 0; agent < world->sizes.agents; agent++)
        if (has_data(world, agent, 0) && has_data(world, agent, trial))
            add(to, average_of(world, agent, trial, DRV_METRIC_SCORE) - average_of(world, agent, 0, DRV_METRIC_SCORE));
}

static int64_t trials_of(const drv_world *world) {
    int64_t sum = 0;
    for (int32_t index = 0; index < world->sizes.agents * world->sizes.max_trials; index++) sum += world->trials[index];
    return sum;
}

/* ---- calls ---- */

static drv_status check_index(const char *name, int32_t found, int32_t low, int32_t high, char *message) {
    if (found >= low && found <= high) return DRV_OK;
    return drv_fail(message, DRV_ERROR_CALL, "%s is %d; it must be %d to %d", name, found, low, high);
}

drv_status drv_batch_metric(drv_batch *batch, int32_t metric, int32_t trial, drv_report_of of, drv_metric_value *out,
                            char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    drv_status status = check_index("trial", trial, -1, batch->config.max_trials - 1, message);
    if (status == DRV_OK) status = check_index("metric", metric, 0, batch->sizes.metrics - 1, message);
    mean found = {0.0, 0};
    for (int32_t number = 0; status == DRV_OK && number < batch->num_worlds; number++) {
        const drv_world world = world_for(batch, number, of);
        add_metric(&world, metric, trial, &found);
    }
    *out = metric_value_of(found);
    drv_batch_leave(whole);
    return status;
}

drv_status drv_batch_adaptation(drv_batch *batch, int32_t trial, drv_report_of of, drv_metric_value *out,
                                char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    const drv_status status = check_index("trial", trial, 1, batch->config.max_trials - 1, message);
    mean found = {0.0, 0};
    for (int32_t number = 0; status == DRV_OK && number < batch->num_worlds; number++) {
        const drv_world world = world_for(batch, number, of);
        add_adaptation(&world, trial, &found);
    }
    *out = metric_value_of(found);
    drv_batch_leave(whole);
    return status;
}

drv_status drv_batch_trials(drv_batch *batch, drv_report_of of, drv_metric_value *out, char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    int64_t sum = 0;
    for (int32_t number = 0; number < batch->num_worlds; number++) {
        const drv_world world = world_for(batch, number, of);
        sum += trials_of(&world);
    }
    *out = (drv_metric_value){(double)sum, sum};
    drv_batch_leave(whole);
    return DRV_OK;
}

drv_status drv_batch_time_phases(drv_batch *batch, int32_t on, int64_t *phase_ns, char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    const int32_t workers = drv_pool_workers(batch->pool);
    memset(phase_ns, 0, DRV_PHASE_COUNT * sizeof *phase_ns);
    for (int32_t i = 0; i < workers; i++) {
        drv_worker *worker = &batch->workers[i];
        for (int32_t phase = 0; phase < DRV_PHASE_COUNT; phase++) phase_ns[phase] += worker->phase_ns[phase];
        memset(worker->phase_ns, 0, sizeof worker->phase_ns);
    }
    batch->times_phases = on != 0;
    drv_batch_leave(whole);
    return DRV_OK;
}

/* Not inlined, with its result in memory: else a compiler may move the arithmetic out from between the calls. */
__attribute__((noinline)) static void divide(double factor, double dividend, double divisor, double *out) {
    *out = factor * dividend / divisor;
}

double drv_quotient(double factor, double dividend, double divisor) {
    double quotient;
    const drv_fp_env saved = drv_fp_env_begin();
    divide(factor, dividend, divisor, &quotient);
    drv_fp_env_end(saved);
    return quotient;
}
