/* In what order? Actions become facts, facts verdicts, verdicts numbers; a restart is a step of its own. */
#include <stddef.h>

#include "clock.h"
#include "kernels.h"
#include "phases.h"

typedef struct named_phase {
    const char *name;
    drv_phase *run;
} named_phase;

static const named_phase phases[DRV_PHASE_COUNT] = {
    {"trial_restart", drv_trial_restart},
    {"traffic_plan", drv_traffic_plan},
    {"dynamics_integrate", drv_dynamics_integrate},
    {"events_detect", drv_events_detect},
    {"trial_judge", drv_trial_judge},
    {"reward_score", drv_reward_score},
    {"metrics_add", drv_metrics_add},
    {"observe_write", drv_observe_write},
};

static const int driving[] = {1, 2, 3, 4, 5, 6, 7};
static const int restarting[] = {0, 7};

static const char *phase_name(int32_t phase) { return phase >= 0 && phase < DRV_PHASE_COUNT ? phases[phase].name : ""; }

void drv_step_world(drv_world *world, drv_scratch *scratch, int64_t *phase_ns) {
    const bool restarts = *world->pending != DRV_GOES_ON;
    const int *order = restarts ? restarting : driving;
    const size_t count = restarts ? sizeof restarting / sizeof *restarting : sizeof driving / sizeof *driving;
    int64_t before_ns = phase_ns ? drv_clock_ns() : 0;
    for (size_t i = 0; i < count; i++) {
        phases[order[i]].run(world, scratch);
        if (!phase_ns) continue;
        int64_t now_ns = drv_clock_ns();
        phase_ns[order[i]] += now_ns - before_ns;
        before_ns = now_ns;
    }
}

const drv_kernels drv_kernels_here = {
    .isa = DRV_ISA_TEXT,
    .phase_name = phase_name,
    .read_actions = drv_actions_read,
    .next_scene = drv_trial_next_scene,
    .open_episode = drv_trial_open_episode,
    .rewind = drv_trial_rewind,
    .step_world = drv_step_world,
    .observe_write = drv_observe_write,
    .observe_rows = drv_observe_rows,
};
