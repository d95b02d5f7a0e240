/* In what order? Actions become facts, facts verdicts, verdicts numbers; a restart is a step of its own. */
#include <stddef.h>

#include "platform/clock.h"
#include "step/actions.h"
#include "step/kernels.h"
#include "step/phases.h"
#include "math/vector.h"

static drv_phase *const phases[DRV_PHASE_COUNT] = {
    [TRIAL_RESTART] = drv_trial_restart,
    [TRAFFIC_PLAN] = drv_traffic_plan,
    [DYNAMICS_INTEGRATE] = drv_dynamics_integrate,
    [EVENTS_DETECT] = drv_events_detect,
    [TRIAL_JUDGE] = drv_trial_judge,
    [REWARD_SCORE] = drv_reward_score,
    [METRICS_ADD] = drv_metrics_add,
    [OBSERVE_WRITE] = drv_observe_write,
};

static const int driving_order[] = {TRAFFIC_PLAN, DYNAMICS_INTEGRATE, EVENTS_DETECT, TRIAL_JUDGE,
                                    REWARD_SCORE, METRICS_ADD,        OBSERVE_WRITE};
static const int restarting_order[] = {TRIAL_RESTART, OBSERVE_WRITE};

void drv_step_world(drv_world *world, drv_scratch *scratch, int64_t *phase_ns) {
    const bool restarts = *world->pending != DRV_GOES_ON;
    const int *order = restarts ? restarting_order : driving_order;
    const size_t count = restarts ? sizeof restarting_order / sizeof *restarting_order
                                  : sizeof driving_order / sizeof *driving_order;
    int64_t before_ns = phase_ns ? drv_clock_ns() : 0;
    for (size_t i = 0; i < count; i++) {
        phases[order[i]](world, scratch);
        if (!phase_ns) continue;
        int64_t now_ns = drv_clock_ns();
        phase_ns[order[i]] += now_ns - before_ns;
        before_ns = now_ns;
    }
}

const drv_kernels DRV_KERNELS_OF_ISA = {
    .isa = DRV_ISA_TEXT,
    .width = DRV_WIDTH,
    .fit_actions = drv_actions_fit,
    .check_actions = drv_actions_check,
    .next_scene = drv_trial_next_scene,
    .open_episode = drv_trial_open_episode,
    .rewind = drv_trial_rewind,
    .step_world = drv_step_world,
    .observe_write = drv_observe_write,
    .observe_agents = drv_observe_agents,
};
