/* What is a scene? An immutable, validated map with vehicles, shared by all worlds and batches, independent of
 * configs. */
#ifndef DRV_SCENE_H
#define DRV_SCENE_H

#include <stdatomic.h>

#include "drive.h"
#include "math/grid.h"

enum {
    DRV_SCENE_NAME_BYTES = 96,
    DRV_VEHICLE_LIMIT = 65535,
    DRV_SEGMENT_LIMIT = 1 << 24,
    DRV_INDEX_LIMIT = 65535, /* largest index in an index observation: uint16, and 0 is an empty slot */
    DRV_CELL_LIMIT = 1 << 18
};

/* Longer segments are split, since searches use the middle of a segment only. */
static const float drv_segment_limit_m = 10.0f;
static const float drv_cell_m = 5.0f;

struct drv_scene {
    char name[DRV_SCENE_NAME_BYTES];
    atomic_int references;
    float dt_s;
    int32_t trial_steps;
    /* Vehicles are ordered: agents, log-replay vehicles, static vehicles. Outside this folder only the columns of the
     * log depend on the order, see drv_scene_log_first. */
    int32_t num_agents, log_replay_count, vehicle_count, frame_count;
    int32_t road_count;

    /* of length vehicle_count */
    uint8_t *kind, *controller; /* drv_object_kind, drv_controller */
    float *length_m, *width_m, *radius_m; /* radius: half the diagonal */
    float *start_x_m, *start_y_m, *start_heading_rad;
    float *start_speed_mps; /* as recorded; a batch clips it to its config's limits. 0 except for agents */
    /* of length num_agents */
    float *goal_x_m, *goal_y_m;
    /* frame_count x log_replay_count */
    float *log_x_m, *log_y_m, *log_heading_rad, *log_cos_heading, *log_sin_heading, *log_speed_mps;
    uint8_t *log_valid;

    /* of length road_count */
    uint8_t *road_kind;
    float *road_width_m, *road_speed_limit_mps;

    drv_grid grid;
    drv_segments segments; /* every segment of the map */
    int32_t *segment_road; /* segments.count: the road of each */
    drv_segments edges;    /* segments of road edges alone */

    uint64_t bytes;
};

/* Returns the vehicle of the first column of the log; the others follow in order. */
static inline int32_t drv_scene_log_first(const drv_scene *scene) { return scene->num_agents; }

void drv_scene_retain(drv_scene *scene);

#endif
