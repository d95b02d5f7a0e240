/* In which order do the phases of a step run? Actions become facts, facts verdicts, verdicts numbers; a restart is a
 * step of its own. */
#include <stddef.h>

#include "math/vector.h"
#include "platform/clock.h"
#include "step/actions.h"
#include "step/expert.h"
#include "step/goals.h"
#include "step/kernels.h"
#include "step/lane_driver.h"
#include "step/phases.h"

/* Measures the time of each phase; off where `phase_ns` is NULL. */
typedef struct stopwatch {
    int64_t *phase_ns, last_ns;
} stopwatch;

static stopwatch start(int64_t *phase_ns) { return (stopwatch){phase_ns, phase_ns ? drv_clock_ns() : 0}; }

/* Adds the time since the last call to a phase. */
static void lap(stopwatch *watch, int phase) {
    if (!watch->phase_ns) return;
    const int64_t now_ns = drv_clock_ns();
    watch->phase_ns[phase] += now_ns - watch->last_ns;
    watch->last_ns = now_ns;
}

/* Writes what learners observe of a world that was reset. */
static void observe_world(drv_world *world, drv_scratch *scratch) {
    drv_observe_write(world, scratch);
    drv_critic_write(world, scratch);
    drv_mask_write(world, scratch);
}

#define RUN(phase) drv_##phase(world, scratch), lap(&watch, DRV_PHASE_##phase)

static void step_world(drv_world *world, drv_scratch *scratch, int64_t *phase_ns) {
    stopwatch watch = start(phase_ns);
    if (*world->pending != DRV_GOES_ON) {
        RUN(trial_restart);
    } else {
        RUN(traffic_plan);
        RUN(dynamics_integrate);
        RUN(height_follow);
        RUN(events_detect);
        RUN(measures_take);
        RUN(lane_locate);
        RUN(proximity_measure);
        RUN(details_add);
        RUN(trial_judge);
        RUN(reward_score);
        RUN(trial_halt);
        RUN(metrics_add);
        RUN(respawn_agents);
        RUN(lights_show);
        RUN(disturbances_draw);
    }
    RUN(observe_write);
    RUN(critic_write);
    RUN(mask_write);
}

#undef RUN

const drv_kernels DRV_KERNELS_OF_ISA = {
    .isa = DRV_ISA_TEXT,
    .width = DRV_WIDTH,
    .actions_in_range = drv_actions_in_range,
    .check_actions = drv_actions_check,
    .next_scene = drv_trial_next_scene,
    .open_episode = drv_trial_open_episode,
    .rewind = drv_trial_rewind,
    .step_world = step_world,
    .reward_replace = drv_reward_replace,
    .observe_world = observe_world,
    .observe_agents = drv_observe_agents,
    .expert_write = drv_expert_write,
    .goals_ahead = drv_goals_ahead,
    .drive_agents = drv_lane_driver_drive,
};
