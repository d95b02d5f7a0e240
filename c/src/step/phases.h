/* Which phases does a step have? Each stands in the room that answers its question. */
#ifndef DRV_PHASES_H
#define DRV_PHASES_H

#include <stdbool.h>

#include "step/isa.h"
#include "step/state.h"

typedef void drv_phase(drv_world *world, drv_scratch *scratch);

/* trial.c: puts the world back at the start, in a new trial or a new episode. */
drv_phase drv_trial_restart;
/* traffic.c: remembers where everybody was; moves the log-replay vehicles to their next frame. */
drv_phase drv_traffic_plan;
/* dynamics.c: moves the agents that drive. */
drv_phase drv_dynamics_integrate;
/* events.c: the facts of the step, from the poses before and after it. */
drv_phase drv_events_detect;
/* trial.c: what the facts mean for agents, trial and episode; the only writer of the channels. */
drv_phase drv_trial_judge;
/* reward.c: what the facts are worth. */
drv_phase drv_reward_score;
/* metrics.c: where a trial of the world has ended, averages what it brought each agent. */
drv_phase drv_metrics_add;
/* observe.c: what every agent sees. */
drv_phase drv_observe_write;

/* Parts that others call. */
void drv_traffic_begin(drv_world *world);                       /* every vehicle at its start */
void drv_events_begin(drv_world *world, drv_scratch *scratch);  /* what overlaps already is no event */
void drv_trial_rewind(drv_world *world, drv_scratch *scratch);  /* state of the next inner trial, no channel */
/* Opens the episode that `episode` counts, its clock `age_steps` on. */
void drv_trial_open_episode(drv_world *world, drv_scratch *scratch, int32_t age_steps);
int32_t drv_trial_next_scene(const drv_world *world, uint64_t seed, int64_t episode);
/* All phases of one step of one world; their times are added to phase_ns where it is not NULL. */
void drv_step_world(drv_world *world, drv_scratch *scratch, int64_t *phase_ns);
/* The observations of the chosen agents of a world in a type with all its features, each at its place from `out` on. */
void drv_observe_agents(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch, drv_observation_type type,
                      void *out);
/* Whether the actions of so many agents are all in range, whoever drives. */
bool drv_actions_fit(drv_actions actions, int32_t action_type, int64_t agents);
/* Whether those of the agents of a world that drive are; the first bad one is told. */
drv_status drv_actions_check(const drv_world *world, int32_t world_number, char *message);
/* What the action of an agent that drives asks for. */
drv_control drv_actions_control(const drv_world *world, int32_t agent);

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
