/* Which phases does a step have? Each stands in the room that answers its question. */
#ifndef DRV_PHASES_H
#define DRV_PHASES_H

#include <stdbool.h>

#include "step/isa.h"
#include "step/state.h"

typedef void drv_phase(drv_world *world, drv_scratch *scratch);

/* trial.c: puts the world back at the start, in a new trial or a new episode. */
DRV_STEP_API drv_phase drv_trial_restart;
/* traffic.c: remembers where everybody was; moves the log-replay vehicles to their next frame. */
DRV_STEP_API drv_phase drv_traffic_plan;
/* dynamics.c: moves the agents that drive. */
DRV_STEP_API drv_phase drv_dynamics_integrate;
/* events.c: the facts of the step, from the poses before and after it. */
DRV_STEP_API drv_phase drv_events_detect;
/* trial.c: what the facts mean for agents, trial and episode; the only writer of the channels. */
DRV_STEP_API drv_phase drv_trial_judge;
/* reward.c: what the facts are worth. */
DRV_STEP_API drv_phase drv_reward_score;
/* metrics.c: where a trial of the world has ended, averages what it brought each agent. */
DRV_STEP_API drv_phase drv_metrics_add;
/* observe.c: what every agent sees. */
DRV_STEP_API drv_phase drv_observe_write;

/* Parts that others call. */
DRV_STEP_API void drv_traffic_begin(drv_world *world);                       /* every vehicle at its start */
DRV_STEP_API void drv_events_begin(drv_world *world, drv_scratch *scratch);  /* what overlaps already is no event */
DRV_STEP_API void drv_trial_rewind(drv_world *world, drv_scratch *scratch);  /* state of the next inner trial, no channel */
/* Opens the episode that `episode` counts, its clock `age_steps` on. */
DRV_STEP_API void drv_trial_open_episode(drv_world *world, drv_scratch *scratch, int32_t age_steps);
DRV_STEP_API int32_t drv_trial_next_scene(const drv_world *world, uint64_t seed, int64_t episode);
/* All phases of one step of one world; their times are added to phase_ns where it is not NULL. */
DRV_STEP_API void drv_step_world(drv_world *world, drv_scratch *scratch, int64_t *phase_ns);
/* The observations of the chosen agents of a world in a type with all its features, each at its place from `out` on. */
DRV_STEP_API void drv_observe_agents(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch, drv_observation_type type,
                      void *out);

/* Index of each phase, for names and times. */
enum {
    TRIAL_RESTART,
    TRAFFIC_PLAN,
    DYNAMICS_INTEGRATE,
    EVENTS_DETECT,
    TRIAL_JUDGE,
    REWARD_SCORE,
    METRICS_ADD,
    OBSERVE_WRITE,
    DRV_PHASE_COUNT
};

#endif
