/* Which settings do the worlds of a batch share? */
#ifndef DRIVE_CONFIG_H
#define DRIVE_CONFIG_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/limits.h"
#include "drive/lists.h"

/* The terms of the reward, in the order of every table of them. */
typedef enum drv_term {
#define X(symbol, name, weight, when, shown) DRV_TERM_##symbol,
    DRV_REWARD_TERMS(X)
#undef X
    DRV_TERM_COUNT
} drv_term;

/* DRV_NEXT and all after it are responses to goals alone: another goal follows, with DRV_RESPAWN from another start of
 * the scene. */
typedef enum drv_event_response {
    DRV_IGNORE = 0,
    DRV_STOP = 1,
    DRV_REMOVE = 2,
    DRV_NEXT = 3,
    DRV_RESPAWN = 4
} drv_event_response;
typedef enum drv_dynamics {
#define X(symbol, name, ...) DRV_##symbol,
    DRV_DYNAMICS(X)
#undef X
    DRV_DYNAMICS_COUNT
} drv_dynamics;
typedef enum drv_action_type { DRV_DISCRETE = 0, DRV_MULTI_DISCRETE = 1, DRV_CONTINUOUS = 2 } drv_action_type;
/* The form of an observation: floats, half floats, an index observation, from which the floats can be rebuilt (see
 * drv_index_layout), or floats and beside them an image, in an array of its own. */
typedef enum drv_observation_type {
    DRV_FLOAT32 = 0,
    DRV_FLOAT16 = 1,
    DRV_INDEX = 2,
    DRV_IMAGE = 3
} drv_observation_type;
/* The layers that images may have; drv_config.image_layers has bit i for layer i. */
typedef enum drv_image_layer {
#define X(symbol, name, meaning) DRV_IMAGE_##symbol,
    DRV_IMAGE_LAYERS(X)
#undef X
    DRV_IMAGE_LAYER_COUNT
} drv_image_layer;
/* Which road segments an agent observes: the nearest to it, or to the centre of its sub-cell, a cell of a grid twice as
 * fine as the scene's. */
typedef enum drv_road_selection { DRV_ROADS_EXACT = 0, DRV_ROADS_NEAR = 1 } drv_road_selection;
/* Where the share of the trial that is left is observed: nowhere, by agents and critics, or by critics alone. */
typedef enum drv_time_left { DRV_TIME_LEFT_OFF = 0, DRV_TIME_LEFT_ACTOR = 1, DRV_TIME_LEFT_CRITIC = 2 } drv_time_left;
/* What a hidden value is drawn for: an episode with all its trials, or each trial; each agent, or each world. */
typedef enum drv_hidden_scope { DRV_HIDDEN_EPISODE = 0, DRV_HIDDEN_TRIAL = 1 } drv_hidden_scope;
typedef enum drv_hidden_per { DRV_HIDDEN_PER_AGENT = 0, DRV_HIDDEN_PER_WORLD = 1 } drv_hidden_per;
typedef enum drv_scene_order { DRV_ORDER_RANDOM = 0, DRV_ORDER_CYCLE = 1 } drv_scene_order;
typedef enum drv_restart { DRV_RESTART_AUTO = 0, DRV_RESTART_CALLER = 1 } drv_restart;

/* What every world of a batch shares: the settings, the range of each hidden parameter, then the weight of each reward
 * term and the range from which it is drawn, both ends 0 where it is not. drv_batch_plan checks the ranges, which
 * drv_config_fields returns. */
typedef struct drv_config {
#define X(type, name, letter, low, high, none, choices) type name;
    DRV_CONFIG(X)
#undef X
#define X(symbol, name, neutral, lowest, highest, meaning) float hidden_##name##_low, hidden_##name##_high;
    DRV_HIDDEN(X)
#undef X
#define X(symbol, name, weight, when, shown) float weight, range_##weight##_low, range_##weight##_high;
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

/* Writes up to `capacity` members of drv_config and returns how many there are. */
int32_t drv_config_fields(drv_config_field *out, int32_t capacity);

#endif
