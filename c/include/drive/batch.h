/* How is a batch of worlds created, called and read? */
#ifndef DRIVE_BATCH_H
#define DRIVE_BATCH_H

#ifndef DRV_BINDING
#include <stddef.h>
#include <stdint.h>
#endif

#include "drive/config.h"
#include "drive/lists.h"
#include "drive/scene.h"
#include "drive/status.h"

enum {
    DRV_METRIC_SCORE = 0,
    /* As the index of a part: all worlds. */
    DRV_WHOLE_BATCH = -1
};

/* How an agent's trial ended. DRV_OUTCOME_OTHER: it disobeyed a traffic light or a stop sign. */
typedef enum drv_outcome {
    DRV_OUTCOME_NONE = 0,
    DRV_OUTCOME_GOAL = 1,
    DRV_OUTCOME_COLLISION = 2,
    DRV_OUTCOME_OFFROAD = 3,
    DRV_OUTCOME_TIMEOUT = 4,
    DRV_OUTCOME_OTHER = 5
} drv_outcome;

/* Bits of the channel `code`, one uint16 per agent; the outcome is in the bits from DRV_CODE_OUTCOME_SHIFT on. */
enum {
    DRV_CODE_TRIAL_ENDED = 1,
    DRV_CODE_TRUNCATION = 2,
    DRV_CODE_REMOVED = 4,
    DRV_CODE_INVALID_STEP = 8,
    DRV_CODE_STOPPED = 16,
    DRV_CODE_FIRST = 32,
    DRV_CODE_OUTCOME_SHIFT = 6
};

/* Parts that a scene has only where it was created with them: the logs of its agents, their routes, the lane graph, and
 * the lanes beside the paths of rule-based vehicles. Routes and lanes beside paths need the lane graph, too. */
enum {
    DRV_SCENE_AGENT_LOGS = 1,
    DRV_SCENE_ROUTES = 2,
    DRV_SCENE_LANE_GRAPH = 4,
    DRV_SCENE_LANE_CHANGES = 8
};

/* The parts that every scene of a batch of this config must have, as a sum. */
int32_t drv_scene_parts_of(const drv_config *config);

/* Sizes of what the caller allocates for a batch. */
typedef struct drv_batch_needs {
    uint64_t block_bytes; /* state: one block, 64-byte aligned, no pointers in it */
    int32_t num_agents;
    int32_t agents_per_world;
    int32_t vehicles_per_world;
    int32_t observation_size;  /* floats per agent */
    int32_t observation_bytes; /* bytes per agent */
    int32_t image_layers, image_size; /* layers per agent, and pixels of their sides */
    int32_t critic_size;       /* floats per agent */
    int32_t mask_size;         /* flags per agent */
    int32_t action_width;      /* numbers per agent */
} drv_batch_needs;

typedef struct drv_batch_setup {
    drv_config config;
    int32_t num_worlds;
    int32_t agents_per_world;
    int32_t scene_count;
    drv_scene *const *scenes;
    const int64_t *world_ids; /* num_worlds */
    uint64_t seed;
    int32_t thread_count; /* the caller's own thread included */
    int32_t record_capacity; /* finished trials whose records a world holds until they are taken; 0: it holds none */
    int32_t own_reward;   /* 1: the caller rewards each step, by drv_batch_reward */
    int32_t part_count;   /* parts that can be called separately, at most one per world; 0: only the whole batch */
    const char *instruction_set; /* as drv_batch_instruction_set returns it; NULL: the fastest one supported */
} drv_batch_setup;

/* The caller's arrays, bound once; drv_array_fields returns their shapes. Flags are 0 or 1. */
typedef struct drv_arrays {
#define X(type, name, letter, per, shape, phases, meaning) type *name;
    DRV_ARRAYS(X)
#undef X
} drv_arrays;

/* One array of drv_arrays: (entries, columns, depth, width) numbers, one entry per agent or per world. */
typedef struct drv_array_field {
    const char *name;
    const char *type;   /* numpy's letter and size */
    const char *phases; /* that change it */
    const char *meaning;
    int32_t per_world; /* 0: one entry per agent */
    int32_t columns;   /* 0: the array has one dimension */
    int32_t depth;     /* 0: it has no third dimension */
    int32_t width;     /* 0: it has no fourth dimension */
    int32_t offset;    /* of the pointer in drv_arrays */
} drv_array_field;

typedef struct drv_batch drv_batch;

/* Consecutive worlds of a batch. */
typedef struct drv_worlds {
    int32_t first;
    int32_t count;
} drv_worlds;

/* Describes one array of the state block, for reading. Element (world, i) is at byte
 * offset + world * world_stride + i * item_bytes. */
typedef struct drv_state_field {
    const char *name;
    const char *type; /* numpy's letter and size, such as "f4" */
    const char *unit;  /* or what it means, where it has none */
    const char *phases; /* that change it; also "create" and "reset" */
    uint64_t offset;
    uint64_t world_stride;
    int32_t count; /* elements of one world */
} drv_state_field;

/* The mean of a metric over the agents that have data. */
typedef struct drv_metric_value {
    double value; /* NaN while n is 0 */
    int64_t n;    /* agents */
} drv_metric_value;

/* Writes up to `capacity` of the arrays that a batch of this config has and returns how many there are. */
int32_t drv_array_fields(const drv_config *config, const drv_batch_needs *needs, drv_array_field *out,
                         int32_t capacity);

/* Checks the setup and returns the memory it needs. */
drv_status drv_batch_plan(const drv_batch_setup *setup, drv_batch_needs *out, char *message);
/* Creates a batch, with its state in the caller's block, which is cleared and must outlive the batch. Retains each
 * scene. */
drv_status drv_batch_create(const drv_batch_setup *setup, void *block, uint64_t block_bytes, drv_batch **out,
                            char *message);
/* Copy the state of one world (world_stride bytes), or the whole block and every array. No step runs meanwhile. The
 * arrays of `arrays` are as long as the bound ones. */
drv_status drv_batch_copy_world(drv_batch *batch, int32_t world, void *out, char *message);
drv_status drv_batch_copy(drv_batch *batch, void *block, const drv_arrays *arrays, char *message);
/* Writes, for each agent of a world, its current goal and those that follow it by the config's on_goal: x, y and the
 * height of the road there, NAN in a scene without heights; 3 numbers a goal, `capacity` goals an agent. `count` gets
 * how many of these an agent has; 0 for absent ones. */
drv_status drv_batch_goals(drv_batch *batch, int32_t world, int32_t capacity, float *goal_m, int32_t *count,
                           char *message);
/* Waits for calls in progress, completes steps in flight, then ends the threads and releases the scenes; later calls
 * return an error. */
void drv_batch_close(drv_batch *batch);
void drv_batch_free(drv_batch *batch); /* closes the batch first, where it is open */
void drv_batch_bind(drv_batch *batch, const drv_arrays *arrays); /* before the first call below */

/* A call works on the whole batch (DRV_WHOLE_BATCH) or on one of its parts, the worlds of drv_batch_part: its arrays
 * have one entry per world or agent of these, and its messages number them from 0. Several threads may call different
 * parts at once; where two calls would share a world, the second returns an error and changes nothing. Calls without
 * `part` work on the whole batch. */
drv_worlds drv_batch_part(const drv_batch *batch, int32_t part);
/* Opens the next episode of each chosen world, or, where `seeds` is not NULL, episode 0 of its new seed in `seeds`.
 * `seeds` and `ages` have one entry per world or are NULL; an age is a number of steps by which the clock of the first
 * trial is ahead. `worlds` has one flag per world, or is NULL for all. */
drv_status drv_batch_reset(drv_batch *batch, int32_t part, const uint64_t *seeds, const uint8_t *worlds,
                           const int32_t *ages, char *message);
/* Steps every world. Once `actions` have passed the checks they are copied into the bound array; where they are NULL,
 * the actions in that array are used. Changes nothing unless it returns DRV_OK. */
drv_status drv_batch_step(drv_batch *batch, int32_t part, const void *actions, char *message);
/* Starts the same step: returns once the actions are copied, and leaves the step in flight to thread_count - 1 threads,
 * at least one. Until drv_batch_wait the arrays of these worlds must not be read, the bound actions may be written, and
 * every other call returns an error. */
drv_status drv_batch_step_async(drv_batch *batch, int32_t part, const void *actions, char *message);
/* Completes the step in flight. Any thread may call it, and steps some of the remaining worlds itself. */
drv_status drv_batch_wait(drv_batch *batch, int32_t part, char *message);
/* Replaces the rewards of the step that has just ended, with own_reward only. `rewards` has one number per agent; those
 * of agents with `invalid_step` are not read, and stay 0. Trials that the step ended are then added to the metrics.
 * After a step, the next one returns an error until this call or a reset has followed. `trial/reward` of observations
 * stays the reward of the config. Changes nothing unless it returns DRV_OK. */
drv_status drv_batch_reward(drv_batch *batch, int32_t part, const float *rewards, char *message);
/* Writes the observation with which each waiting agent will start the next trial of its episode; zeros for other
 * agents, and in the last trial. observation_size floats per agent, or half floats if observations are. */
drv_status drv_batch_restart_observations(drv_batch *batch, int32_t part, void *out, char *message);
/* The pool's threads do not survive a fork; the child calls this before its first step. If another thread was in a call
 * at the fork, or a step was in flight, the child's copy is half written, and all calls but close return an error. */
void drv_batch_forked(drv_batch *batch);

/* Each writes up to `capacity` names and returns how many there are: of the reward terms, in the order of drv_term, and
 * of the metrics of a batch with this config. */
int32_t drv_term_names(const char **out, int32_t capacity);
int32_t drv_metric_names(const drv_config *config, const char **out, int32_t capacity);
/* Whose trials a report is of. */
typedef enum drv_report_of { DRV_OF_EGOS = 0, DRV_OF_COPLAYERS = 1 } drv_report_of;

/* A metric is an index of drv_metric_names; that of the score is DRV_METRIC_SCORE. Metrics are of whole trials: all
 * agents of a world are added in the step that ends its trial, and a trial that a reset cuts is not. */
/* The metric in the trial of that index, 0 .. max_trials - 1; -1: its mean over the trials of an agent. */
drv_status drv_batch_metric(drv_batch *batch, int32_t metric, int32_t trial, drv_report_of of, drv_metric_value *out,
                            char *message);
/* Mean, over the agents that have both, of the score in trial `trial` minus the score in trial 0. */
drv_status drv_batch_adaptation(drv_batch *batch, int32_t trial, drv_report_of of, drv_metric_value *out,
                                char *message);

/* One agent's part of a finished trial. Its values are in a separate array, one float per metric and record. */
typedef struct drv_trial_record {
    int64_t episode;
    int32_t world, scene, trial;
    int32_t agent; /* of the batch */
    int32_t outcome; /* drv_outcome */
    uint8_t coplayer; /* 1: the agent was a co-player */
} drv_trial_record;

/* Copies up to `capacity` records with their values, world by world, oldest first. Writes to `copied` the number of
 * copied records, and to `lost` the number of records that were dropped because the world already held record_capacity
 * trials. `clear` removes the copied records and sets the loss count to 0. */
drv_status drv_batch_trial_records(drv_batch *batch, int32_t clear, int64_t capacity, drv_trial_record *records,
                                   float *values, int64_t *copied, int64_t *lost, char *message);
/* The number of agents' trials in the averages, as value and as n. */
drv_status drv_batch_trials(drv_batch *batch, drv_report_of of, drv_metric_value *out, char *message);
/* factor * dividend / divisor, rounded alike in every floating-point environment of the caller. */
double drv_quotient(double factor, double dividend, double divisor);

/* The instruction set of the step that this batch runs: "baseline", "v3" or "v4" (x86-64 levels). All give the same
 * bytes. */
const char *drv_batch_instruction_set(const drv_batch *batch);

int32_t drv_phase_count(void);
const char *drv_phase_name(int32_t phase); /* "" past the end */
/* Writes the nanoseconds spent in each phase since timing was switched on, summed over threads, to `phase_ns`
 * (drv_phase_count of them); then restarts timing, or stops it where `on` is 0. */
drv_status drv_batch_time_phases(drv_batch *batch, int32_t on, int64_t *phase_ns, char *message);

/* Writes up to `capacity` arrays of the state block and returns how many there are. */
int32_t drv_batch_state_fields(const drv_batch *batch, drv_state_field *out, int32_t capacity);

#endif
