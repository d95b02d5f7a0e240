/* How do C tests get a valid scene to step or to damage? Two agents, a log-replay vehicle and a static vehicle among a
 * few roads. The test owns all arrays and may change them before it creates the scene. */
#ifndef SMALL_SCENE_H
#define SMALL_SCENE_H

#include <string.h>

#include "drive.h"

enum {
    SMALL_AGENTS = 2,
    SMALL_LOG_REPLAYS = 1,
    SMALL_VEHICLES = 4,
    SMALL_FRAMES = 6,
    SMALL_ROADS = 4,
    SMALL_POINTS = 8,
    SMALL_CONTROLS = 3,
    SMALL_LISTED = 3,
    SMALL_PHASES = 3
};

typedef struct small_scene {
    uint8_t kind[SMALL_VEHICLES];
    float length_m[SMALL_VEHICLES], width_m[SMALL_VEHICLES];
    float x_m[SMALL_VEHICLES], y_m[SMALL_VEHICLES], heading_rad[SMALL_VEHICLES];
    float vx_mps[SMALL_VEHICLES], vy_mps[SMALL_VEHICLES];
    float goal_x_m[SMALL_AGENTS], goal_y_m[SMALL_AGENTS], goal_heading_rad[SMALL_AGENTS];
    uint8_t goal_has_heading[SMALL_AGENTS], listed_repeats[SMALL_AGENTS], listed_has_heading[SMALL_LISTED];
    int32_t listed_start[SMALL_AGENTS + 1];
    float listed_x_m[SMALL_LISTED], listed_y_m[SMALL_LISTED], listed_z_m[SMALL_LISTED];
    float listed_heading_rad[SMALL_LISTED];
    float log_x_m[SMALL_FRAMES], log_y_m[SMALL_FRAMES], log_heading_rad[SMALL_FRAMES];
    float log_vx_mps[SMALL_FRAMES], log_vy_mps[SMALL_FRAMES];
    uint8_t log_valid[SMALL_FRAMES];
    int32_t road_start[SMALL_ROADS + 1];
    uint8_t road_kind[SMALL_ROADS];
    float road_width_m[SMALL_ROADS], road_speed_limit_mps[SMALL_ROADS];
    float point_x_m[SMALL_POINTS], point_y_m[SMALL_POINTS];
    float start_z_m[SMALL_VEHICLES], goal_z_m[SMALL_AGENTS], log_z_m[SMALL_FRAMES]; /* without has_height: not read */
    float point_z_m[SMALL_POINTS], control_z_m[SMALL_CONTROLS];
    uint8_t control_kind[SMALL_CONTROLS], control_state[SMALL_FRAMES * SMALL_CONTROLS];
    float control_line_m[4 * SMALL_CONTROLS], control_offset_s[SMALL_CONTROLS];
    int32_t control_start[SMALL_CONTROLS + 1], control_lane[1], control_junction[SMALL_CONTROLS];
    int32_t control_phase_start[SMALL_CONTROLS + 1];
    uint8_t control_phase_state[SMALL_PHASES];
    float control_phase_s[SMALL_PHASES];
    int32_t script_vehicle[1], script_group[1], script_option[1], script_options[1];
    float script_line_m[4];
    drv_scene_input input;
} small_scene;

/* The defaults of DriveConfig, but two trials, few slots, small images of all layers, and time that agents observe. */
static inline drv_config small_config(void) {
    return (drv_config){
        .max_trials = 2, .action_type = DRV_DISCRETE, .max_acceleration_mps2 = 4.0f, .max_steering_rad = 0.6f,
        .max_speed_mps = 40.0f, .min_speed_mps = 0.0f, .friction = 1.0f, .goal_radius_m = 2.0f,
        .vertical_clearance_m = 4.0f,
        .goal_max_speed_mps = -1.0f, .goal_heading_tolerance_rad = -1.0f,
        .idm_min_gap_m = 1.0f, .idm_headway_s = 1.5f, .idm_acceleration_mps2 = 1.0f, .idm_braking_mps2 = 2.0f,
        .idm_hardest_braking_mps2 = 8.0f, .idm_speed_factor = 1.0f, .mobil_politeness = 0.3f,
        .mobil_threshold_mps2 = 0.2f, .mobil_safe_braking_mps2 = 2.0f,
        .goal_reveal_s = -1.0f, .goal_spacing_m = 40.0f, .on_goal = DRV_REMOVE,
        .on_collision = DRV_STOP, .on_offroad = DRV_STOP, .stopped_share_limit = 0.0f,
        .image_size = 8, .image_metres_per_pixel = 2.0f, .image_layers = (1 << DRV_IMAGE_LAYER_COUNT) - 1,
        .partners = 4, .roads = 8, .road_memory_mib = 1, .view_radius_m = 100.0f, .time_left = DRV_TIME_LEFT_ACTOR,
        .route_spacing_m = 4.0f, .steps_share = 1,
        .scene_order = DRV_ORDER_RANDOM, .restart = DRV_RESTART_AUTO, .reward_goal = 1.0f, .reward_collision = -0.5f,
        .reward_offroad = -0.2f, .log_ema_alpha = 0.707f};
}

/* Agent 0 drives along +x from the origin, agent 1 twenty metres to its left; the log-replay vehicle crosses far ahead
 * of them, the static vehicle is behind. The edge runs along the right side of agent 0; a stop sign is one point.
 * Ahead of agent 0 is a light with a program, beyond it two stop signs. The log-replay vehicle has a script, which
 * `input.script_count` 0 leaves out. Agent 0 has a list of two goals, agent 1 one goal that repeats, and some goals
 * have headings; `input.listed_count` and `input.has_goal_headings` leave them out unless they are set. */
static inline void make_small(small_scene *scene) {
    /* vehicles: starts and goals */
    memset(scene, 0, sizeof *scene);
    for (int32_t i = 0; i < SMALL_VEHICLES; i++) {
        scene->kind[i] = DRV_OBJECT_VEHICLE;
        scene->length_m[i] = 4.0f;
        scene->width_m[i] = 2.0f;
    }
    const float x_m[SMALL_VEHICLES] = {0.0f, 0.0f, 0.0f, -30.0f}, y_m[SMALL_VEHICLES] = {0.0f, 20.0f, 0.0f, 0.0f};
    memcpy(scene->x_m, x_m, sizeof x_m);
    memcpy(scene->y_m, y_m, sizeof y_m);
    scene->vx_mps[0] = scene->vx_mps[1] = 10.0f;
    for (int32_t agent = 0; agent < SMALL_AGENTS; agent++) {
        scene->goal_x_m[agent] = 500.0f;
        scene->goal_y_m[agent] = y_m[agent];
    }
    /* the log, with a gap of one frame */
    for (int32_t frame = 0; frame < SMALL_FRAMES; frame++) {
        scene->log_x_m[frame] = 60.0f;
        scene->log_y_m[frame] = (float)frame;
        scene->log_heading_rad[frame] = 1.5707964f;
        scene->log_vy_mps[frame] = 10.0f;
        scene->log_valid[frame] = frame != 3;
    }
    /* a lane, a road edge, a line and a stop sign */
    const int32_t road_start[SMALL_ROADS + 1] = {0, 2, 5, 7, 8};
    const uint8_t road_kind[SMALL_ROADS] = {DRV_ROAD_LANE, DRV_ROAD_EDGE, DRV_ROAD_LINE, DRV_ROAD_STOP_SIGN};
    const float point_x_m[SMALL_POINTS] = {-10, 95, -20, 0, 40, 0, 8, 33};
    const float point_y_m[SMALL_POINTS] = {0, 0, -4, -4, -4, 18, 18, 3};
    memcpy(scene->road_start, road_start, sizeof road_start);
    memcpy(scene->road_kind, road_kind, sizeof road_kind);
    scene->road_width_m[0] = 3.5f;
    scene->road_speed_limit_mps[0] = 13.9f;
    memcpy(scene->point_x_m, point_x_m, sizeof point_x_m);
    memcpy(scene->point_y_m, point_y_m, sizeof point_y_m);
    /* traffic controls: a light with a program, and two signs */
    const float line_m[4 * SMALL_CONTROLS] = {30, 2, 30, -2, 33, 2, 33, -2, 90, 2, 90, -2};
    const float phase_s[SMALL_PHASES] = {0.27f, 0.27f, 0.46f};
    const uint8_t phase_state[SMALL_PHASES] = {DRV_LIGHT_GREEN, DRV_LIGHT_YELLOW, DRV_LIGHT_RED};
    memcpy(scene->control_line_m, line_m, sizeof line_m);
    memcpy(scene->control_phase_s, phase_s, sizeof phase_s);
    memcpy(scene->control_phase_state, phase_state, sizeof phase_state);
    scene->control_kind[0] = DRV_TRAFFIC_LIGHT;
    scene->control_kind[1] = scene->control_kind[2] = DRV_STOP_SIGN;
    for (int32_t i = 1; i <= SMALL_CONTROLS; i++) {
        scene->control_start[i] = 1;
        scene->control_phase_start[i] = SMALL_PHASES;
    }
    scene->control_offset_s[0] = 1.2f;
    scene->control_junction[0] = 0;
    scene->control_junction[1] = scene->control_junction[2] = -1;
    /* the script: one of two options, and a line that both agents cross */
    const float script_line_m[4] = {3, 50, 3, -50};
    memcpy(scene->script_line_m, script_line_m, sizeof script_line_m);
    scene->script_vehicle[0] = SMALL_AGENTS;
    scene->script_options[0] = 2;
    /* lists of goals: of the lane, across it, and anywhere */
    const float listed_x_m[SMALL_LISTED] = {12, 16, 4}, listed_y_m[SMALL_LISTED] = {0, 0.5f, 20};
    const float listed_heading_rad[SMALL_LISTED] = {0, 1.5f, 0};
    memcpy(scene->listed_x_m, listed_x_m, sizeof listed_x_m);
    memcpy(scene->listed_y_m, listed_y_m, sizeof listed_y_m);
    memcpy(scene->listed_heading_rad, listed_heading_rad, sizeof listed_heading_rad);
    scene->listed_has_heading[1] = scene->goal_has_heading[1] = scene->listed_repeats[1] = 1;
    scene->listed_start[1] = 2;
    scene->listed_start[2] = SMALL_LISTED;
    /* the input that refers to them */
    scene->input = (drv_scene_input){
        .name = "small", .dt_s = 0.1f, .trial_steps = 5, .num_agents = SMALL_AGENTS,
        .log_replay_count = SMALL_LOG_REPLAYS, .vehicle_count = SMALL_VEHICLES, .frame_count = SMALL_FRAMES,
        .kind = scene->kind,
        .length_m = scene->length_m, .width_m = scene->width_m, .start_x_m = scene->x_m, .start_y_m = scene->y_m,
        .start_heading_rad = scene->heading_rad, .start_vx_mps = scene->vx_mps, .start_vy_mps = scene->vy_mps,
        .goal_x_m = scene->goal_x_m, .goal_y_m = scene->goal_y_m, .log_x_m = scene->log_x_m,
        .log_y_m = scene->log_y_m, .log_heading_rad = scene->log_heading_rad, .log_vx_mps = scene->log_vx_mps,
        .log_vy_mps = scene->log_vy_mps, .log_valid = scene->log_valid, .road_count = SMALL_ROADS,
        .point_count = SMALL_POINTS, .road_start = scene->road_start, .road_kind = scene->road_kind,
        .road_width_m = scene->road_width_m, .road_speed_limit_mps = scene->road_speed_limit_mps,
        .point_x_m = scene->point_x_m, .point_y_m = scene->point_y_m, .control_count = SMALL_CONTROLS,
        .controlled_count = 1, .phase_count = SMALL_PHASES, .control_kind = scene->control_kind,
        .control_line_m = scene->control_line_m, .control_start = scene->control_start,
        .control_lane = scene->control_lane, .control_state = scene->control_state,
        .control_phase_start = scene->control_phase_start, .control_phase_state = scene->control_phase_state,
        .control_junction = scene->control_junction, .control_phase_s = scene->control_phase_s,
        .control_offset_s = scene->control_offset_s, .start_z_m = scene->start_z_m, .goal_z_m = scene->goal_z_m,
        .log_z_m = scene->log_z_m, .point_z_m = scene->point_z_m, .control_z_m = scene->control_z_m,
        .script_vehicle = scene->script_vehicle,
        .script_group = scene->script_group, .script_option = scene->script_option,
        .script_options = scene->script_options, .script_line_m = scene->script_line_m,
        .goal_has_heading = scene->goal_has_heading, .goal_heading_rad = scene->goal_heading_rad,
        .listed_start = scene->listed_start, .listed_repeats = scene->listed_repeats, .listed_x_m = scene->listed_x_m,
        .listed_y_m = scene->listed_y_m, .listed_z_m = scene->listed_z_m,
        .listed_has_heading = scene->listed_has_heading, .listed_heading_rad = scene->listed_heading_rad};
}

#endif
