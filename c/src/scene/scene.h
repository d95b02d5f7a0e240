/* What is a scene? A map and its vehicles: validated, immutable, independent of configs, and shared by all worlds and
 * batches that play it. */
#ifndef DRV_SCENE_H
#define DRV_SCENE_H

#include <stdatomic.h>

#include "drive.h"
#include "math/grid.h"
#include "scene/agent_routes.h"
#include "scene/crossings.h"
#include "scene/lanes.h"
#include "scene/neighbours.h"
#include "scene/paths.h"
#include "scene/stop_lines.h"

enum {
    DRV_SCENE_NAME_BYTES = 96,
    DRV_VEHICLE_LIMIT = DRV_OBJECT_LIMIT, /* any object may be a vehicle */
    DRV_LIGHT_STATES = 4, /* of drv_light */
    DRV_INDEX_LIMIT = 65535, /* largest index in an index observation: uint16, and 0 is an empty slot */
    DRV_CELL_LIMIT = 1 << 18 /* of the grid */
};

static const float drv_segment_limit_m = DRV_SEGMENT_LIMIT_M;
static const float drv_cell_m = 5.0f; /* width of a grid cell, before any doubling */

/* The arrays that a scene derives from its input; elements as in DRV_SCENE_ARRAYS.
 *
 * X(type, name, element) */
#define DRV_SCENE_DERIVED(X)                                                                   \
    X(uint8_t, controller, VEHICLES) /* drv_controller */                                      \
    X(float, radius_m, VEHICLES)     /* half the diagonal */                                   \
    X(float, start_x_m, VEHICLES)    /* starts: of log-replay vehicles 0, of rule-based */     \
                                     /* ones the pose at which their log begins */             \
    X(float, start_y_m, VEHICLES)                                                              \
    X(float, start_heading_rad, VEHICLES)                                                      \
    X(float, start_speed_mps, VEHICLES) /* not yet clipped to a config; 0 except for agents */ \
    X(float, goal_direction_x, GOAL_HEADINGS) /* unit vector; 0 without a heading of its own */ \
    X(float, goal_direction_y, GOAL_HEADINGS)                                                  \
    X(float, listed_direction_x, LISTED) /* likewise */                                        \
    X(float, listed_direction_y, LISTED)                                                       \
    X(int32_t, listed_lane, LISTED) /* road; -1 on no lane, or without a lane graph */         \
    X(float, listed_along_m, LISTED)                                                           \
    X(float, log_x_m, LOG)              /* logs are 0 where they are not valid */              \
    X(float, log_y_m, LOG)                                                                     \
    X(float, log_heading_rad, LOG)                                                             \
    X(float, log_cos_heading, LOG)                                                             \
    X(float, log_sin_heading, LOG)                                                             \
    X(float, log_speed_mps, LOG) /* along the heading */                                       \
    X(float, control_x_m, PADDED_CONTROLS) /* middles of stop lines, and far away after the last */ \
    X(float, control_y_m, PADDED_CONTROLS)                                                     \
    X(int32_t, control_phase_end, PHASES) /* in steps since the program began */               \
    X(int32_t, control_offset_steps, CONTROLS) /* below the cycle; 0 without a program */

struct drv_scene {
    char name[DRV_SCENE_NAME_BYTES];
    atomic_int references;
    float dt_s;
    int32_t trial_steps;
    /* Vehicles are in this order: agents, log-replay vehicles, rule-based vehicles, static vehicles. The log has a
     * column for each of the second and third. */
    int32_t num_agents, log_replay_count, rule_based_count, vehicle_count, candidate_count, listed_count,
        script_count, frame_count;
    int32_t road_count;
    int32_t control_count, controlled_count, phase_count;
    int32_t agent_log_frames;
    int32_t has_goal_headings; /* 1: some goals have headings of their own */
    int32_t has_height; /* 1: heights separate; 0: there are none */
    float largest_radius_m; /* of a vehicle */
    float control_reach_m; /* half the longest stop line */

#define X(type, name, letter, element, low, high) type *name;
    DRV_SCENE_COPIED(X)
#undef X
#define X(type, name, element) type *name;
    DRV_SCENE_DERIVED(X)
#undef X

    drv_grid grid;
    drv_segments segments; /* every segment of the map */
    int32_t *segment_road; /* segments.count: the road of each */
    drv_segments edges;    /* those of road edges */
    drv_lanes lanes;       /* without arrays where the scene was created without a lane graph */
    drv_agent_routes routes; /* empty where the scene was created without; in a block of their own */
    drv_paths paths;       /* of the rule-based vehicles; in a block of their own */
    drv_zones zones;       /* where these cross; in a block of their own */
    drv_neighbours neighbours; /* lanes beside these; in a block of their own, none where created without */
    drv_stop_lines stop_lines; /* that they cross; in a block of their own */

    uint64_t bytes;
};

/* Returns the vehicle of the log's first column; those of the other columns follow it. */
static inline int32_t drv_scene_log_first(const drv_scene *scene) { return scene->num_agents; }

/* Returns the first rule-based vehicle; its path is that of index 0. */
static inline int32_t drv_scene_rule_first(const drv_scene *scene) {
    return scene->num_agents + scene->log_replay_count;
}

/* Returns the lights and signs of a scene. */
static inline drv_controls drv_scene_controls(const drv_scene *scene) {
    return (drv_controls){scene->control_count, scene->control_kind,  scene->control_line_m,
                          scene->control_z_m,   scene->control_start, scene->control_lane};
}

void drv_scene_retain(drv_scene *scene);

#endif
