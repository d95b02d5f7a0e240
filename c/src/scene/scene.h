/* What is fixed? One immutable, checked scene, shared by all the worlds that play it. */
#ifndef DRV_SCENE_H
#define DRV_SCENE_H

#include <stdatomic.h>

#include "drive.h"
#include "math/grid.h"

enum {
    DRV_SCENE_NAME_BYTES = 96,
    DRV_VEHICLE_LIMIT = 65535,
    DRV_SEGMENT_LIMIT = 1 << 24,
    DRV_INDEX_LIMIT = 65535, /* what an index observation can name: uint16, and 0 is nobody */
    DRV_CELL_LIMIT = 1 << 18
};

/* Coordinates beyond this lose more than 4 mm in float32. */
static const float drv_coordinate_limit_m = 50000.0f;
/* Segments longer than this are split: their middle must stand for the whole. */
static const float drv_segment_limit_m = 10.0f;
static const float drv_cell_m = 5.0f;

struct drv_scene {
    char name[DRV_SCENE_NAME_BYTES];
    atomic_int references;
    float dt_s;
    int32_t trial_steps;
    int32_t num_agents, log_replay_count, vehicle_count, frame_count; /* agents, then log-replay vehicles, then static vehicles */

    /* vehicle_count each */
    uint8_t *kind;
    float *length_m, *width_m, *radius_m; /* radius: half the diagonal */
    float *start_x_m, *start_y_m, *start_heading_rad, *start_speed_mps;
    /* num_agents each */
    float *goal_x_m, *goal_y_m;
    /* frame_count x log_replay_count */
    float *log_x_m, *log_y_m, *log_heading_rad, *log_cos_heading, *log_sin_heading, *log_speed_mps;
    uint8_t *log_valid;

    drv_grid grid;
    drv_segments segments; /* every segment of the map */
    float *record;         /* segments.count x ROAD_COUNT: what a slot shows of each, but in the scene's frame */
    drv_segments edges;    /* those whose crossing is leaving the road */
    int32_t roads;         /* the slots that cell_reach_m was made for */
    float view_radius_m, min_speed_mps, max_speed_mps;
    float *cell_reach_m;
    int32_t clipped_start_speeds;

    uint64_t bytes;
};

void drv_scene_retain(drv_scene *scene);

#endif
