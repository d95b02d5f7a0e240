/* What may be called from outside the core?
 *
 * Every public declaration is here or expands from drive/lists.h; the Python binding is this header, preprocessed
 * with DRV_BINDING defined. Units are SI and stand in the names. Angles are radians counter-clockwise from +x.
 *
 * Words: a *world* is a running copy of a *scene*; an *agent* is a controlled vehicle of a world, and the agents of all
 * worlds are numbered world by world. A *step* is one call, a *trial* an attempt from the scene's start state, an
 * *episode* `max_trials` trials of one scene. */
#ifndef DRIVE_H
#define DRIVE_H

#ifndef DRV_BINDING
#include <stddef.h>
#include <stdint.h>
#endif

#include "drive/lists.h"

enum {
    /* Bytes of a caller's message buffer: one sentence with names cut to fit. */
    DRV_MESSAGE_BYTES = 512,
    /* Numbers of a control: acceleration, steering. */
    DRV_ACTION_DIMENSIONS = 2,
    DRV_ACTION_BIN_LIMIT = 13,
    /* Floats of what a slot shows, and of a record in the tables of index observations. */
    DRV_RECORD_FLOATS = 8,
    DRV_METRIC_SCORE = 0,
    /* In place of a part's index: all worlds. */
    DRV_WHOLE_BATCH = -1,
    DRV_PART_LIMIT = 16,
    DRV_WORLD_LIMIT = 1 << 20,
    DRV_THREAD_LIMIT = 1024,
    /* Finished trials whose records a world may hold. */
    DRV_RECORD_LIMIT = 1000000,
    /* Partners, and roads, of one agent. */
    DRV_SLOT_LIMIT = 4096,
    /* Float32 coordinates beyond this are off by more than 4 mm. */
    DRV_COORDINATE_LIMIT_M = 50000,
    /* Faster than any road vehicle; what logs hold beyond it is noise. */
    DRV_SPEED_LIMIT_MPS = 200,
    /* Longest and widest object of a scene. */
    DRV_SIZE_LIMIT_M = 200
};

/* The terms of the reward, in the order of every table of them. */
typedef enum drv_term {
#define X(symbol, name, weight, when) DRV_TERM_##symbol,
    DRV_REWARD_TERMS(X)
#undef X
    DRV_TERM_COUNT
} drv_term;

typedef enum drv_status {
    DRV_OK = 0,
    DRV_ERROR_CONFIG = 1,
    DRV_ERROR_SCENE = 2,
    DRV_ERROR_ACTION = 3,
    DRV_ERROR_CALL = 4,
    DRV_ERROR_MEMORY = 5
} drv_status;

typedef enum drv_event_response { DRV_IGNORE = 0, DRV_STOP = 1, DRV_REMOVE = 2 } drv_event_response;
typedef enum drv_dynamics { DRV_BICYCLE = 0 } drv_dynamics;
typedef enum drv_action_type { DRV_DISCRETE = 0, DRV_MULTI_DISCRETE = 1, DRV_CONTINUOUS = 2 } drv_action_type;
/* The element type of an observation: floats, half floats, or an index observation, from which the floats can be
 * rebuilt (see drv_observation_place). */
typedef enum drv_observation_type { DRV_FLOAT32 = 0, DRV_FLOAT16 = 1, DRV_INDEX = 2 } drv_observation_type;
/* Which road segments an agent observes: the nearest to it, or to the middle of its sub-cell. */
typedef enum drv_road_selection { DRV_ROADS_EXACT = 0, DRV_ROADS_NEAR = 1 } drv_road_selection;
typedef enum drv_time_left { DRV_TIME_LEFT_OFF = 0, DRV_TIME_LEFT_ACTOR = 1 } drv_time_left;
typedef enum drv_scene_order { DRV_ORDER_RANDOM = 0, DRV_ORDER_CYCLE = 1 } drv_scene_order;
typedef enum drv_restart { DRV_RESTART_AUTO = 0, DRV_RESTART_CALLER = 1 } drv_restart;

/* How an agent's trial ended. DRV_OUTCOME_OTHER is kept for causes that are none of the named ones. */
typedef enum drv_outcome {
    DRV_OUTCOME_NONE = 0,
    DRV_OUTCOME_GOAL = 1,
    DRV_OUTCOME_COLLISION = 2,
    DRV_OUTCOME_OFFROAD = 3,
    DRV_OUTCOME_TIMEOUT = 4,
    DRV_OUTCOME_OTHER = 5
} drv_outcome;

typedef enum drv_object_kind {
    DRV_OBJECT_VEHICLE = 1,
    DRV_OBJECT_PEDESTRIAN = 2,
    DRV_OBJECT_CYCLIST = 3,
    DRV_OBJECT_OTHER = 4
} drv_object_kind;

/* What moves a vehicle. */
typedef enum drv_controller {
    DRV_CONTROLLER_NONE = 0, /* there is no vehicle */
    DRV_CONTROLLER_AGENT = 1,
    DRV_CONTROLLER_LOG = 2,
    DRV_CONTROLLER_STATIC = 3,
    DRV_CONTROLLER_RULE = 4 /* reserved for rule-based vehicles */
} drv_controller;

typedef enum drv_road_kind {
    DRV_ROAD_LANE = 1,
    DRV_ROAD_LINE = 2,
    DRV_ROAD_EDGE = 3,
    DRV_ROAD_CROSSWALK = 4,
    DRV_ROAD_STOP_SIGN = 5,
    DRV_ROAD_SPEED_BUMP = 6,
    DRV_ROAD_DRIVEWAY = 7
} drv_road_kind;

/* Bits of the per-agent summary code, one uint16 an agent; `outcome` sits above them, see DRV_CODE_OUTCOME_SHIFT. */
enum {
    DRV_CODE_TRIAL_ENDED = 1,
    DRV_CODE_TRUNCATION = 2,
    DRV_CODE_REMOVED = 4,
    DRV_CODE_INVALID_STEP = 8,
    DRV_CODE_STOPPED = 16,
    DRV_CODE_FIRST = 32,
    DRV_CODE_OUTCOME_SHIFT = 6
};

/* What every world of a batch shares: the settings, then the weight of each reward term. drv_batch_plan checks the
 * ranges, which drv_config_fields returns. */
typedef struct drv_config {
#define X(type, name, letter, low, high, none, choices) type name;
    DRV_CONFIG(X)
#undef X
#define X(symbol, name, weight, when) float weight;
    DRV_REWARD_TERMS(X)
#undef X
} drv_config;

/* One member of drv_config. */
typedef struct drv_config_field {
    const char *name;
    const char *type;    /* numpy's letter and size */
    const char *choices; /* names of the codes of an enum, from 0; else "" */
    double low;          /* both ends are allowed */
    double high;
    double none; /* what stands for no value; NaN where there must be one */
    int32_t offset;
} drv_config_field;

/* The arrays of a scene, which drv_scene_create copies. Vehicles are in the order agents, log-replay vehicles, static
 * vehicles. Every trial starts at frame 0. */
typedef struct drv_scene_input {
    const char *name;
    float dt_s;
    int32_t trial_steps;
    int32_t num_agents;
    int32_t log_replay_count;
    int32_t vehicle_count;
    int32_t frame_count;
    const uint8_t *kind;          /* vehicle_count, drv_object_kind */
    const float *length_m;        /* vehicle_count */
    const float *width_m;         /* vehicle_count */
    const float *start_x_m;       /* vehicle_count; start_* of log-replay vehicles are not read */
    const float *start_y_m;
    const float *start_heading_rad;
    const float *start_vx_mps; /* the speed along the heading is kept */
    const float *start_vy_mps;
    const float *goal_x_m;        /* num_agents */
    const float *goal_y_m;
    const float *log_x_m;         /* frame_count x log_replay_count */
    const float *log_y_m;
    const float *log_heading_rad;
    const float *log_vx_mps;
    const float *log_vy_mps;
    const uint8_t *log_valid;
    int32_t road_count;
    int32_t point_count;
    const int32_t *road_start;    /* road_count + 1 */
    const uint8_t *road_kind;     /* road_count, drv_road_kind */
    const float *road_width_m;    /* road_count, 0 unknown */
    const float *road_speed_limit_mps; /* road_count, 0 unknown */
    const float *point_x_m;       /* point_count */
    const float *point_y_m;
} drv_scene_input;

/* Immutable, checked and reference-counted; threads may share it. */
typedef struct drv_scene drv_scene;

/* Sizes of a loaded scene. */
typedef struct drv_scene_facts {
    int32_t segment_count;
    int32_t edge_segment_count;
    int32_t cell_count;
    float cell_size_m;
    uint64_t bytes;
} drv_scene_facts;

/* The scene file format `.drv`; docs/scenes.md describes it. */
enum {
    DRV_FILE_MAJOR = 1, /* this core reads every minor version of it, and what is written is 1.0 */
    DRV_FILE_MINOR = 0,
    DRV_FILE_MAGIC_BYTES = 8,
    DRV_FILE_HEADER_BYTES = 96,
    DRV_FILE_ENTRY_BYTES = 40,
    DRV_FILE_ALIGNMENT_BYTES = 64,
    DRV_FILE_SECTIONS = 25
};

/* A number of a file's header, or of an entry of its table of sections. */
typedef struct drv_file_field {
    const char *name;
    const char *type; /* numpy's letter and size */
    const char *unit;
    const char *meaning;
    double low; /* both ends are allowed */
    double high;
    int32_t offset;
} drv_file_field;

/* A kind of section: one array of a scene. */
typedef struct drv_file_kind {
    int32_t code;
    const char *name; /* path of the array in a Scene */
    const char *type;
    const char *rows; /* how many, in words */
    const char *columns; /* "": it has one dimension */
    const char *unit;
    const char *rule; /* what must be true beside the range, or "" */
    const char *meaning;
    double low; /* both ends are allowed; 0 and 0: no range */
    double high;
} drv_file_kind;

/* Where an array is in a file. */
typedef struct drv_file_section {
    uint64_t offset;
    int64_t rows;
    int64_t columns; /* 1 where it has one dimension */
} drv_file_section;

/* The contents of a file that passed all checks; sections are in the order of drv_file_kinds. */
typedef struct drv_file {
    int32_t minor;
    int32_t skipped_sections; /* of later minor versions */
    double origin_x_m;
    double origin_y_m;
    double dt_s;
    int32_t object_count;
    int32_t frame_count;
    int32_t road_count;
    int32_t point_count;
    int32_t link_count;
    int32_t predicted_count;
    int32_t interest_count;
    int32_t sdc;
    int32_t generated;
    drv_file_section sections[DRV_FILE_SECTIONS];
} drv_file;

/* Sizes that a batch needs from its caller. */
typedef struct drv_batch_needs {
    uint64_t block_bytes; /* state: one block, 64-byte aligned, no pointers in it */
    int32_t num_agents;
    int32_t agents_per_world;
    int32_t vehicles_per_world;
    int32_t observation_size; /* floats an agent */
    int32_t observation_bytes; /* an agent */
    int32_t action_width;     /* numbers an agent */
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
    int32_t part_count;   /* parts that can be called apart, at most one a world; 0: only the whole batch is called */
    const char *instruction_set; /* a name of drv_batch_instruction_set, or NULL: the best this processor has */
} drv_batch_setup;

/* The caller's arrays, bound once; drv_array_fields returns their shapes. Flags are 0 or 1. */
typedef struct drv_arrays {
#define X(type, name, letter, per, shape, phases, meaning) type *name;
    DRV_ARRAYS(X)
#undef X
} drv_arrays;

/* One array of drv_arrays: (entries, columns, depth) numbers, one entry per agent or per world. */
typedef struct drv_array_field {
    const char *name;
    const char *type;   /* numpy's letter and size */
    const char *phases; /* that change it */
    const char *meaning;
    int32_t per_world; /* 0: one entry per agent */
    int32_t columns;   /* 0: the array has one dimension */
    int32_t depth;     /* 0: it has no third dimension */
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

/* One named feature of an agent, repeated `slots` times at `stride` floats. */
typedef struct drv_feature {
    const char *name;
    const char *unit;
    const char *meaning;
    float scale;   /* the value shown is the quantity times scale, clipped to [low, 1] */
    float low;     /* 0 or -1 */
    int32_t offset;
    int32_t slots;
    int32_t stride;
} drv_feature;

/* One number of a control. */
typedef struct drv_action_dimension {
    const char *name;
    const char *unit;
    float limit;  /* in `unit`: what 1 stands for */
    int32_t bins; /* of the discrete action types */
    float share[DRV_ACTION_BIN_LIMIT]; /* of each bin: the same control as a continuous action, a share of the limit */
} drv_action_dimension;

/* The actions of one agent. A discrete action is one index, acceleration_bin * bins of steering + steering_bin; a
 * multi-discrete action is the two bins; a continuous action is the two shares, each in [low, high]. */
typedef struct drv_action_space {
    int32_t type;  /* drv_action_type */
    int32_t width; /* numbers of an action */
    int32_t count; /* of discrete actions */
    float low, high;
    drv_action_dimension dimension[DRV_ACTION_DIMENSIONS];
} drv_action_space;

/* A set of an observation: slots, each with the record of one vehicle or segment. In an index observation a slot is a
 * uint16: an entry in the table of the set, whose entry 0 is all zeros and denotes an empty slot.
 * The table of `partners` is the world's part of the vehicle table, that of `roads` the scene's records. */
typedef struct drv_observation_set {
    const char *name; /* its features are called name/... */
    int32_t slots;
    int32_t record_floats;
    int32_t offset;      /* of its first float in a float observation */
    int32_t index_bytes; /* of its first uint16 in an index observation */
} drv_observation_set;

/* An index observation: `head_count` floats, the features of no set; then the uint16 of its sets, one after another. */
typedef struct drv_observation_place {
    int32_t head_count, observation_bytes;
} drv_observation_place;

/* The moving averages of one figure over the agents that have data. */
typedef struct drv_figure {
    double value; /* NaN while n is 0 */
    int64_t n;
} drv_figure;

/* Checks every count and number of the input, splits long segments, builds the grid. Batches of any config may share
 * the scene. */
drv_status drv_scene_create(const drv_scene_input *input, drv_scene **out, char *message);
void drv_scene_release(drv_scene *scene);
drv_scene_facts drv_scene_describe(const drv_scene *scene);
/* The two below take a config that drv_batch_plan accepts. */
/* Writes the records that index observations refer to: 1 + segment_count of 8 floats, in the scene's frame; the first
 * is zeros. */
void drv_scene_records(const drv_scene *scene, const drv_config *config, float *out);
/* Counts the agents whose start speed is clipped to the config's limits. */
int32_t drv_scene_clipped_start_speeds(const drv_scene *scene, const drv_config *config);

/* Checks the bytes of a scene file: every count, offset and checksum, and every number but those of the metadata, which
 * is text that the core does not read. A refusal names section, byte and element. `bytes` begin at a multiple of 8. */
drv_status drv_file_read(const uint8_t *bytes, uint64_t byte_count, drv_file *out, char *message);
const uint8_t *drv_file_magic(void); /* DRV_FILE_MAGIC_BYTES bytes */
/* The three lists of the format. Each writes up to `capacity` entries and returns how many there are. */
int32_t drv_file_header_fields(drv_file_field *out, int32_t capacity);
int32_t drv_file_entry_fields(drv_file_field *out, int32_t capacity);
int32_t drv_file_kinds(drv_file_kind *out, int32_t capacity);

/* Write up to `capacity` entries and return how many there are: the members of drv_config, and the arrays that a batch
 * of this config has. */
int32_t drv_config_fields(drv_config_field *out, int32_t capacity);
int32_t drv_array_fields(const drv_config *config, const drv_batch_needs *needs, drv_array_field *out,
                         int32_t capacity);

/* Checks the setup and returns the memory it needs. */
drv_status drv_batch_plan(const drv_batch_setup *setup, drv_batch_needs *out, char *message);
/* Makes a batch in the caller's block, which is cleared and must outlive it. Retains each scene. */
drv_status drv_batch_create(const drv_batch_setup *setup, void *block, uint64_t block_bytes, drv_batch **out,
                            char *message);
/* Copy the state of one world (world_stride bytes), or the whole block and every array, all of one moment. The arrays
 * of `arrays` are as long as the bound ones. */
drv_status drv_batch_copy_world(drv_batch *batch, int32_t world, void *out, char *message);
drv_status drv_batch_copy(drv_batch *batch, void *block, const drv_arrays *arrays, char *message);
/* Waits for calls in progress and steps in flight, then ends the threads and releases the scenes; later calls return an
 * error. */
void drv_batch_close(drv_batch *batch);
void drv_batch_free(drv_batch *batch); /* closes the batch first, where it is open */
void drv_batch_bind(drv_batch *batch, const drv_arrays *arrays); /* before the first call below */

/* A call works on the whole batch (DRV_WHOLE_BATCH) or on one of its parts, the worlds of drv_batch_part: its arrays
 * have one entry per world or agent of these, and its messages number them from 0. Several threads may call different
 * parts at once; where two calls would share a world, the second returns an error and changes nothing. Calls without
 * `part` work on the whole batch. */
drv_worlds drv_batch_part(const drv_batch *batch, int32_t part);
/* Opens the next episode of each chosen world, or, where seeds is given, episode 0 of its own seed.
 * seeds, ages: one a world or NULL; worlds: one flag a world or NULL for all. */
drv_status drv_batch_reset(drv_batch *batch, int32_t part, const uint64_t *seeds, const uint8_t *worlds,
                           const int32_t *ages, char *message);
/* Steps every world. `actions` are copied into the bound array once they passed the checks; NULL uses that array as it
 * is. Changes nothing unless it returns DRV_OK. */
drv_status drv_batch_step(drv_batch *batch, int32_t part, const void *actions, char *message);
/* Starts the same step: returns once the actions are copied, and leaves the step in flight to thread_count - 1 threads,
 * at least one. Until drv_batch_wait the arrays of these worlds must not be read, the bound actions may be written, and
 * every other call returns an error. */
drv_status drv_batch_step_async(drv_batch *batch, int32_t part, const void *actions, char *message);
/* Ends the step in flight, from any thread, which steps some of the remaining worlds itself. */
drv_status drv_batch_wait(drv_batch *batch, int32_t part, char *message);
/* Writes the observation of each waiting agent at its next inner restart, zeros elsewhere: observation_size floats per
 * agent, or half floats where observations are. */
drv_status drv_batch_restart_observations(drv_batch *batch, int32_t part, void *out, char *message);
/* The pool's threads do not survive a fork; the child calls this before its first step. If another thread was in a call
 * at the fork, or a step was in flight, the child's copy is half written, and all calls but close return an error. */
void drv_batch_forked(drv_batch *batch);

/* Figures: index 0 .. drv_metric_count() - 1; the score is index DRV_METRIC_SCORE. They hold whole trials of a world:
 * all its agents enter in the step that ends the trial, and a trial that a reset cuts enters nothing. */
int32_t drv_metric_count(void);
const char *drv_metric_name(int32_t metric); /* "" past the end */
/* Over the trial of that index, 0 .. max_trials - 1, or, where it is -1, over all trials of an agent. */
drv_status drv_batch_metric(drv_batch *batch, int32_t metric, int32_t trial, drv_figure *out, char *message);
/* Mean over agents that have both of score in trial `trial` minus score in trial 0. */
drv_status drv_batch_adaptation(drv_batch *batch, int32_t trial, drv_figure *out, char *message);
/* One agent's part of a finished trial. Its figures are in a separate array, drv_metric_count floats per record. */
typedef struct drv_trial_record {
    int64_t episode;
    int32_t world, scene, trial;
    int32_t agent; /* of the batch */
    int32_t outcome; /* drv_outcome */
} drv_trial_record;

/* Copies up to `capacity` records with their figures, world by world, oldest first. Writes to `copied` the number of
 * copied records, and to `lost` the number of records that were dropped because the world already held record_capacity
 * trials. `clear` removes the copied records and sets the loss count to 0. */
drv_status drv_batch_trial_records(drv_batch *batch, int32_t clear, int64_t capacity, drv_trial_record *records,
                                   float *figures, int64_t *copied, int64_t *lost, char *message);
/* The number of agents' trials in the averages, as value and as n. */
drv_status drv_batch_trials(drv_batch *batch, drv_figure *out, char *message);

/* The instruction set of the step that this batch runs: "baseline", "v3" or "v4" (x86-64 levels). All give the same
 * bytes. */
const char *drv_batch_instruction_set(const drv_batch *batch);

int32_t drv_phase_count(void);
const char *drv_phase_name(int32_t phase); /* "" past the end */
/* Writes the nanoseconds spent in each phase since timing was switched on, summed over threads, to `phase_ns`
 * (drv_phase_count of them); then restarts timing, or stops it where `on` is 0. */
drv_status drv_batch_time_phases(drv_batch *batch, int32_t on, int64_t *phase_ns, char *message);

/* Writes up to `capacity` entries, returns how many there are. */
int32_t drv_batch_state_fields(const drv_batch *batch, drv_state_field *out, int32_t capacity);
drv_action_space drv_action_space_of(const drv_config *config);
int32_t drv_observation_layout(const drv_config *config, drv_feature *out, int32_t capacity);
int32_t drv_observation_sets(const drv_config *config, drv_observation_set *out, int32_t capacity);
drv_observation_place drv_index_observation(const drv_config *config);
/* The factor of places in an agent: slots show metres times this. */
float drv_position_scale(const drv_config *config);

#endif
