/* What does an agent observe under a config? */
#ifndef DRIVE_OBSERVATION_H
#define DRIVE_OBSERVATION_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/config.h"

enum {
    /* Floats of a slot, and of a record in the tables of index observations. */
    DRV_RECORD_FLOATS = 8
};

/* One named feature of an agent, repeated `slots` times at `stride` floats. */
typedef struct drv_feature {
    const char *name;
    const char *unit;
    const char *meaning;
    float scale;   /* the observed value is the quantity times scale, clipped to [low, 1] */
    float low;     /* 0 or -1 */
    int32_t offset;
    int32_t slots;
    int32_t stride;
} drv_feature;

/* A set of an observation: slots, each with one record, such as that of a vehicle. In an index observation a slot is a
 * uint16, the index of an entry in the table of the set; entry 0 is all zeros and stands for an empty slot. The table
 * of `partners` is the world's part of the vehicle table, that of `roads` and `controls` the scene's records. */
typedef struct drv_observation_set {
    const char *name; /* its features are called name/... */
    int32_t slots;
    int32_t record_floats;
    int32_t offset;             /* of its first float in a float observation, in floats */
    int32_t index_offset_bytes; /* of its first uint16 in an index observation */
} drv_observation_set;

/* An index observation: `head_count` floats, the features of no set; then the uint16 of its sets, one after another. */
typedef struct drv_index_layout {
    int32_t head_count, observation_bytes;
} drv_index_layout;

/* A layer of images, in the order of drv_image_layer. */
typedef struct drv_image_layer_kind {
    const char *name, *meaning;
} drv_image_layer_kind;

/* Each writes up to `capacity` entries and returns how many there are. */
int32_t drv_image_layer_kinds(drv_image_layer_kind *out, int32_t capacity);
int32_t drv_observation_layout(const drv_config *config, drv_feature *out, int32_t capacity);
/* The features of the observation of a critic, one float32 vector per agent. */
int32_t drv_critic_layout(const drv_config *config, drv_feature *out, int32_t capacity);
int32_t drv_observation_sets(const drv_config *config, drv_observation_set *out, int32_t capacity);
drv_index_layout drv_index_observation(const drv_config *config);
/* The factor of positions: slots hold metres times this. */
float drv_position_scale(const drv_config *config);

#endif
