/* How is a scene created and queried? Vehicles with starts, goals and logs, and the map; independent of any config. */
#ifndef DRIVE_SCENE_H
#define DRIVE_SCENE_H

#ifndef DRV_BINDING
#include <stdint.h>
#endif

#include "drive/arena.h"
#include "drive/config.h"
#include "drive/limits.h"
#include "drive/lists.h"
#include "drive/status.h"

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
    DRV_CONTROLLER_RULE = 4
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

/* Kind of a traffic control, which scenes call control for short. */
typedef enum drv_traffic_control { DRV_TRAFFIC_LIGHT = 1, DRV_STOP_SIGN = 2, DRV_YIELD_SIGN = 3 } drv_traffic_control;

/* What a traffic light shows. */
typedef enum drv_light {
    DRV_LIGHT_OFF = 0, /* or unknown */
    DRV_LIGHT_RED = 1,
    DRV_LIGHT_YELLOW = 2,
    DRV_LIGHT_GREEN = 3
} drv_light;

/* The input of drv_scene_create: counts and arrays, see DRV_SCENE_ARRAYS. Every trial starts at frame 0. */
typedef struct drv_scene_input {
    const char *name;
    float dt_s;
    int32_t trial_steps;
    int32_t num_agents;
    int32_t log_replay_count;
    int32_t rule_based_count;
    int32_t vehicle_count;
    int32_t candidate_count;
    int32_t listed_count; /* goals in the lists of all agents */
    int32_t script_count;
    int32_t frame_count;
    int32_t road_count;
    int32_t point_count;
    int32_t link_count;
    int32_t control_count;
    int32_t controlled_count;
    int32_t phase_count;
    int32_t agent_log_frames; /* frames of the agents' logs; 0 where the scene is without them */
    int32_t has_lane_changes; /* 1: the scene has the lanes beside the paths, which needs its lane graph */
    int32_t has_routes;       /* 1: the scene has the route of each agent, which needs its lane graph */
    int32_t has_goal_headings; /* 1: some goals have headings of their own */
    int32_t has_height;       /* 1: roads lie above each other, so that heights separate what is on them */
#define X(type, name, letter, element, low, high) const type *name;
    DRV_SCENE_ARRAYS(X)
#undef X
} drv_scene_input;

/* One array of drv_scene_input. */
typedef struct drv_scene_array_field {
    const char *name;
    const char *type; /* numpy's letter and size */
} drv_scene_array_field;

/* Immutable, checked and reference-counted; threads may share it. */
typedef struct drv_scene drv_scene;

/* Sizes of a loaded scene. */
typedef struct drv_scene_facts {
    int32_t segment_count;
    int32_t edge_segment_count;
    int32_t cell_count;
    int32_t path_count; /* of rule-based vehicles; those without a path stand */
    float cell_size_m;
    uint64_t bytes;
} drv_scene_facts;

/* Writes up to `capacity` arrays of drv_scene_input and returns how many there are. */
int32_t drv_scene_array_fields(drv_scene_array_field *out, int32_t capacity);
/* Checks every count and number of the input, copies the arrays, splits long segments and sorts them into the grid.
 * Batches of any config may share the scene. Where `arena` is NULL the scene has memory of its own. */
drv_status drv_scene_create(const drv_scene_input *input, drv_arena *arena, drv_scene **out, char *message);
void drv_scene_release(drv_scene *scene);
drv_scene_facts drv_scene_describe(const drv_scene *scene);

/* The three below take a config that drv_batch_plan accepts.
 *
 * Counts the records of a scene: one per road segment and, where observations have slots for traffic lights and signs,
 * as many per light or sign as a light has states. */
int32_t drv_scene_record_count(const drv_scene *scene, const drv_config *config);
/* Writes the records that index observations refer to: 1 + drv_scene_record_count of DRV_RECORD_FLOATS floats, in the
 * scene's frame; the first is zeros. */
void drv_scene_records(const drv_scene *scene, const drv_config *config, float *out);
/* Counts the agents whose start speed is clipped to the config's limits. */
int32_t drv_scene_clipped_start_speeds(const drv_scene *scene, const drv_config *config);

/* A lane, from `from_m` to `to_m` along it. */
typedef struct drv_route_lane {
    int32_t road;
    float from_m, to_m;
} drv_route_lane;

/* Heights are those of the road, NAN for any; they matter only in a scene with heights. */
typedef struct drv_route_ends {
    float start_x_m, start_y_m, start_heading_rad;
    float goal_x_m, goal_y_m;
    float start_z_m, goal_z_m;
} drv_route_ends;

/* The three below need a scene with a lane graph. The first two write up to `capacity` entries, and to `count` how many
 * there are.
 *
 * Finds the shortest path along lanes, without lane changes. It leads from the lane on which a vehicle at the start
 * drives to a lane near the goal; `count` is 0 where there is none. */
drv_status drv_scene_route(const drv_scene *scene, const drv_route_ends *ends, int32_t capacity, drv_route_lane *out,
                           int32_t *count, char *message);
/* The points of a lane from from_m to to_m, both of them included. */
drv_status drv_scene_lane_points(const drv_scene *scene, drv_route_lane lane, int32_t capacity, float *x_m, float *y_m,
                                 int32_t *count, char *message);
/* Writes the unit vector of a lane at a length along it, past an end that of the end; 0 where its points have no
 * direction. */
drv_status drv_scene_lane_direction(const drv_scene *scene, int32_t road, float along_m, float *x, float *y,
                                    char *message);

#endif
