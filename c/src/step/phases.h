/* Which phases does a step have? The first word of a phase names the file that defines it; lights_show is in
 * traffic_controls.c. */
#ifndef DRV_PHASES_H
#define DRV_PHASES_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* X(name, meaning) in the order of a step; drv_trial_restart replaces those before drv_observe_write in the
 * step that restarts a world. */
#define DRV_PHASES(X)                                                                                           \
    X(trial_restart, "puts the world back at its start, in a new trial or a new episode")                       \
    X(traffic_plan, "stores the poses before the step, then moves log-replay and rule-based vehicles")          \
    X(dynamics_integrate, "moves the agents that drive")                                                        \
    X(height_follow, "sets the heights of agents, where roads lie above each other")                             \
    X(events_detect, "detects onsets of collisions, off-road, goals and violations, lines of scripts")          \
    X(measures_take, "measures continuous facts of the step: metres driven, progress towards the goal, comfort") \
    X(lane_locate, "finds the lane that each agent is on, where a term or metric uses it")                      \
    X(proximity_measure, "measures the time to collision of each agent, where a term or metric uses it")        \
    X(details_add, "adds the step to the counts and extremes of the trial, where detailed metrics are on")      \
    X(trial_judge, "decides which agents, trials and episodes end; writes the channels")                        \
    X(reward_score, "sums the reward terms of each agent")                                                      \
    X(trial_halt, "sets the motion of agents that an event stopped or removed in this step to 0")               \
    X(metrics_add, "adds the trial that the step ended to the averages of each agent")                          \
    X(respawn_agents, "puts agents that have reached their goals at starts, where they respawn")                 \
    X(lights_show, "sets what traffic lights show until the next step ends")                                    \
    X(disturbances_draw, "decides which agents are blind or brake in the coming step, where disturbances are on") \
    X(observe_write, "writes the observation of each agent")                                                    \
    X(critic_write, "writes the observation of each agent's critic, where critic observations are on")          \
    X(mask_write, "writes which actions of each agent are valid, where action masks are on")

typedef void drv_phase(drv_world *world, drv_scratch *scratch);

#define X(name, meaning) DRV_STEP_API drv_phase drv_##name;
DRV_PHASES(X)
#undef X

/* Indices of phases, for names and times. */
enum {
#define X(name, meaning) DRV_PHASE_##name,
    DRV_PHASES(X)
#undef X
    DRV_PHASE_COUNT
};

/* ---- entry points other than the phases ---- */

/* Puts every vehicle at its start. */
DRV_STEP_API void drv_traffic_begin(drv_world *world);
/* Puts a vehicle at the start of any vehicle; at the origin where `start` is -1. */
DRV_STEP_API void drv_traffic_place(drv_world *world, int32_t vehicle, int32_t start);
/* Stores what overlaps at the start of a trial, which is no onset. */
DRV_STEP_API void drv_events_begin(drv_world *world, drv_scratch *scratch);
/* The same for an agent that has appeared, clear of all vehicles; its onsets stay those of the step. */
DRV_STEP_API void drv_events_place(drv_world *world, int32_t agent);
/* Detects which agents cross a stop line at red, or that of a stop sign without a stop; a part of events_detect. */
DRV_STEP_API void drv_traffic_controls_detect(drv_world *world);
/* Draws the offsets of light programs, and sets the lights and violations of a trial to its start. */
DRV_STEP_API void drv_traffic_controls_begin(drv_world *world, drv_scratch *scratch);
/* Sets whether an agent that has appeared stands before a stop sign. */
DRV_STEP_API void drv_traffic_controls_place(drv_world *world, int32_t agent);
/* Sets the counts of valid actions of a trial to 0. */
DRV_STEP_API void drv_mask_begin(drv_world *world);
/* Sets the sums over the trial of the caller's rewards to 0. */
DRV_STEP_API void drv_reward_begin(drv_world *world);
/* Replaces the rewards of the step by the caller's, one per agent, then adds the trial that the step ended to the
 * metrics; no-op where the step has been rewarded already, or was a restart. */
DRV_STEP_API void drv_reward_replace(drv_world *world, const float *rewards, drv_scratch *scratch);
/* Sets the measures of a trial to 0. */
DRV_STEP_API void drv_measures_begin(drv_world *world);
/* Sets what the measures of the next step count from, for an agent that has appeared. */
DRV_STEP_API void drv_measures_place(drv_world *world, int32_t agent);
/* Sets the state to the start of the next trial of the episode; writes no channel. */
DRV_STEP_API void drv_trial_rewind(drv_world *world, drv_scratch *scratch);
/* Opens the episode whose number world->episode holds; the clock of its first trial begins at `age_steps`. */
DRV_STEP_API void drv_trial_open_episode(drv_world *world, drv_scratch *scratch, int32_t age_steps);
/* Returns the index of the scene that a world with this seed plays in an episode. */
DRV_STEP_API int32_t drv_trial_next_scene(const drv_world *world, uint64_t seed, int64_t episode);
/* Writes the observation vectors of the chosen agents; `out` has one vector per agent, and those of others are left as
 * they are. With DRV_FLOAT16 they are float16, with DRV_FLOAT32 and DRV_IMAGE float32. */
DRV_STEP_API void drv_observe_agents(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch,
                                     drv_observation_type type, void *out);

#endif
