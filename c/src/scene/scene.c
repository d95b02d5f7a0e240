/* How is a scene created, held and released? One block holds it and all its arrays. */
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/geometry.h"
#include "math/simd_pad.h"
#include "platform/arena.h"
#include "platform/error.h"
#include "platform/fp_env.h"
#include "scene/goal_lane.h"
#include "scene/lane_height.h"
#include "scene/scene_input.h"
#include "scene/segments.h"

/* ---- memory ---- */

static void lay_out_segments(drv_segments *segments, drv_block *block, int32_t count, int32_t cell_count,
                             bool has_height) {
    segments->count = count;
    DRV_CARVE(block, segments->middle_x_m, count + DRV_SIMD_PAD);
    DRV_CARVE(block, segments->middle_y_m, count + DRV_SIMD_PAD);
    DRV_CARVE(block, segments->along_x, count + DRV_SIMD_PAD);
    DRV_CARVE(block, segments->along_y, count + DRV_SIMD_PAD);
    DRV_CARVE(block, segments->half_length_m, count + DRV_SIMD_PAD);
    DRV_CARVE(block, segments->middle_z_m, has_height ? count + DRV_SIMD_PAD : 0);
    DRV_CARVE(block, segments->half_rise_m, has_height ? count + DRV_SIMD_PAD : 0);
    DRV_CARVE(block, segments->cell_start, (int64_t)cell_count + 1);
}

static void lay_out_lanes(drv_lanes *lanes, drv_block *block, bool has_height) {
    DRV_CARVE(block, lanes->point_start, (int64_t)lanes->road_count + 1);
    DRV_CARVE(block, lanes->successor_start, (int64_t)lanes->road_count + 1);
    DRV_CARVE(block, lanes->predecessor_start, (int64_t)lanes->road_count + 1);
    DRV_CARVE(block, lanes->x_m, lanes->point_count);
    DRV_CARVE(block, lanes->y_m, lanes->point_count);
    DRV_CARVE(block, lanes->arc_m, lanes->point_count);
    if (has_height) DRV_CARVE(block, lanes->z_m, lanes->point_count);
    DRV_CARVE(block, lanes->successor, lanes->link_count);
    DRV_CARVE(block, lanes->predecessor, lanes->link_count);
}

static void lay_out(drv_scene *scene, drv_block *block, int32_t segment_count, int32_t edge_count,
                    bool has_lane_graph) {
    const int32_t cells = scene->grid.columns * scene->grid.rows;
#define X(type, name, letter, element, low, high) DRV_CARVE(block, scene->name, DRV_COUNT_##element(scene));
    DRV_SCENE_COPIED(X)
#undef X
#define X(type, name, element) DRV_CARVE(block, scene->name, DRV_COUNT_##element(scene));
    DRV_SCENE_DERIVED(X)
#undef X
    lay_out_segments(&scene->segments, block, segment_count, cells, scene->has_height);
    DRV_CARVE(block, scene->segment_road, segment_count);
    lay_out_segments(&scene->edges, block, edge_count, cells, scene->has_height);
    if (has_lane_graph) lay_out_lanes(&scene->lanes, block, scene->has_height);
}

static drv_scene *allocate(const drv_scene *plan, drv_arena *arena, int32_t segment_count, int32_t edge_count,
                           bool has_lane_graph) {
    drv_scene sized = *plan;
    drv_block block = {NULL, drv_round_up_to_line(sizeof *plan)};
    lay_out(&sized, &block, segment_count, edge_count, has_lane_graph);
    drv_scene *scene = drv_memory_acquire(arena, block.used);
    if (!scene) return NULL;
    memcpy(scene, plan, sizeof *plan);
    scene->bytes = block.used;
    block = (drv_block){(uint8_t *)scene, drv_round_up_to_line(sizeof *plan)};
    lay_out(scene, &block, segment_count, edge_count, has_lane_graph);
    atomic_init(&scene->references, 1);
    return scene;
}

/* ---- contents ---- */

static void copy_arrays(drv_scene *scene, const drv_scene_input *in) {
#define X(type, name, letter, element, low, high) \
    if (DRV_COUNT_##element(in) > 0) memcpy(scene->name, in->name, (size_t)DRV_COUNT_##element(in) * sizeof(type));
    DRV_SCENE_COPIED(X)
#undef X
}

/* Speed along the heading; negative for a vehicle that rolls backwards. */
static float forward_speed(float vx_mps, float vy_mps, float heading_rad) {
    drv_point ahead = drv_direction(heading_rad);
    return vx_mps * ahead.x + vy_mps * ahead.y;
}

static void fill_vehicles(drv_scene *scene, const drv_scene_input *in) {
    const int64_t vehicles = scene->vehicle_count, log = DRV_COUNT_LOG(scene);

    /* radii, controllers and starts, whose order is that of the vehicles */
    for (int64_t i = 0; i < vehicles; i++) {
        float length = in->length_m[i], width = in->width_m[i];
        const int64_t column = i - scene->num_agents; /* of the log */
        const drv_controller controller = column < 0                         ? DRV_CONTROLLER_AGENT
                                          : column < scene->log_replay_count ? DRV_CONTROLLER_LOG
                                          : column < DRV_LOG_COLUMNS(scene)  ? DRV_CONTROLLER_RULE
                                                                             : DRV_CONTROLLER_STATIC;
        const bool has_start = controller == DRV_CONTROLLER_AGENT || controller == DRV_CONTROLLER_STATIC;
        scene->controller[i] = (uint8_t)controller;
        scene->radius_m[i] = 0.5f * sqrtf(length * length + width * width);
        scene->largest_radius_m = drv_larger(scene->largest_radius_m, scene->radius_m[i]);
        scene->start_x_m[i] = has_start ? in->start_x_m[i] : 0.0f;
        scene->start_y_m[i] = has_start ? in->start_y_m[i] : 0.0f;
        scene->start_heading_rad[i] = has_start ? drv_wrap_angle(in->start_heading_rad[i]) : 0.0f;
        if (controller != DRV_CONTROLLER_AGENT) continue; /* static vehicles have no speed, others follow their log */
        scene->start_speed_mps[i] =
            forward_speed(in->start_vx_mps[i], in->start_vy_mps[i], scene->start_heading_rad[i]);
    }

    /* logs, with zeros where they are not valid */
    for (int64_t i = 0; i < log; i++) {
        bool valid = in->log_valid[i] != 0;
        scene->log_x_m[i] = valid ? in->log_x_m[i] : 0.0f;
        scene->log_y_m[i] = valid ? in->log_y_m[i] : 0.0f;
        scene->log_heading_rad[i] = valid ? drv_wrap_angle(in->log_heading_rad[i]) : 0.0f;
        const drv_point ahead = drv_direction(scene->log_heading_rad[i]);
        scene->log_cos_heading[i] = ahead.x;
        scene->log_sin_heading[i] = ahead.y;
        scene->log_speed_mps[i] =
            valid ? forward_speed(in->log_vx_mps[i], in->log_vy_mps[i], scene->log_heading_rad[i]) : 0.0f;
    }
}

static void fill_stop_lines(drv_scene *scene) {
    for (int32_t i = 0; i < scene->control_count; i++) {
        const float *line_m = scene->control_line_m + 4 * (int64_t)i;
        const float dx = line_m[2] - line_m[0], dy = line_m[3] - line_m[1];
        scene->control_x_m[i] = 0.5f * (line_m[0] + line_m[2]);
        scene->control_y_m[i] = 0.5f * (line_m[1] + line_m[3]);
        scene->control_reach_m = drv_larger(scene->control_reach_m, 0.5f * sqrtf(dx * dx + dy * dy));
    }
    /* farther from any agent than a line can reach */
    for (int64_t i = scene->control_count; i < DRV_COUNT_PADDED_CONTROLS(scene); i++)
        scene->control_x_m[i] = scene->control_y_m[i] = 1e18f;
}

/* The whole number of steps nearest to a time, at most 2^30, which no trial reaches. */
static int32_t steps_of(double time_s, float dt_s) {
    const double steps = time_s / (double)dt_s + 0.5;
    return steps < (double)(1 << 30) ? (int32_t)steps : 1 << 30;
}

/* The ends of phases are rounded, not their durations, so that programs of one cycle keep it; each phase has at least
 * one step. */
static void fill_programs(drv_scene *scene, const drv_scene_input *in) {
    for (int32_t i = 0; i < scene->control_count; i++) {
        double end_s = 0.0;
        int32_t end = 0;
        for (int32_t phase = in->control_phase_start[i]; phase < in->control_phase_start[i + 1]; phase++) {
            const int32_t before = end;
            end_s += (double)in->control_phase_s[phase];
            end = steps_of(end_s, in->dt_s);
            if (end <= before) end = before + 1;
            scene->control_phase_end[phase] = end;
        }
        const double offset_s = (double)in->control_offset_s[i];
        const double rest_s = end > 0 ? offset_s - end_s * floor(offset_s / end_s) : 0.0;
        scene->control_offset_steps[i] = end > 0 ? steps_of(rest_s, in->dt_s) % end : 0;
    }
}

/* Sets the starts of the rule-based vehicles to where their logs begin; those without a path are static. */
static void fill_rule_based(drv_scene *scene) {
    const int64_t columns = DRV_LOG_COLUMNS(scene);
    for (int32_t i = 0; i < scene->rule_based_count; i++) {
        const int32_t vehicle = drv_scene_rule_first(scene) + i;
        if (drv_path_points(&scene->paths, i) == 0) scene->controller[vehicle] = DRV_CONTROLLER_STATIC;
        if (scene->paths.entry_step[i] < 0) continue;
        const int64_t at = scene->paths.entry_step[i] * columns + scene->log_replay_count + i;
        scene->start_x_m[vehicle] = scene->log_x_m[at];
        scene->start_y_m[vehicle] = scene->log_y_m[at];
        scene->start_heading_rad[vehicle] = scene->log_heading_rad[at];
        if (scene->has_height) scene->start_z_m[vehicle] = scene->log_z_m[at];
    }
}

/* Sets the heights of paths: each begins at that of the log and follows the lanes under it. */
static void fill_path_heights(drv_scene *scene) {
    const drv_paths *paths = &scene->paths;
    for (int32_t i = 0; scene->has_height && i < paths->count; i++) {
        const int64_t columns = DRV_LOG_COLUMNS(scene);
        if (paths->entry_step[i] < 0) continue;
        float z_m = scene->log_z_m[paths->entry_step[i] * columns + scene->log_replay_count + i];
        for (int32_t point = paths->point_start[i]; point < paths->point_start[i + 1]; point++)
            paths->z_m[point] = z_m = drv_lane_height(scene, (drv_point){paths->x_m[point], paths->y_m[point]}, z_m);
    }
}

static void fill_roads(drv_scene *scene, const drv_scene_input *in, const drv_road_segment *pieces, int64_t count) {
    const int32_t cells = scene->grid.columns * scene->grid.rows;
    drv_segments_fill(&scene->segments, pieces, count, in->road_kind, false, cells, scene->has_height);
    for (int64_t i = 0; i < count; i++) scene->segment_road[i] = pieces[i].road;
    drv_segments_fill(&scene->edges, pieces, count, in->road_kind, true, cells, scene->has_height);
}

/* The unit vector of the heading of a goal; 0 where it has none of its own. */
static drv_point own_direction(const uint8_t *has_heading, const float *heading_rad, int64_t goal) {
    return has_heading[goal] ? drv_direction(drv_wrap_angle(heading_rad[goal])) : (drv_point){0.0f, 0.0f};
}

/* The directions of goals, and the lanes of listed ones. These are found once, here: agents observe goals ahead of the
 * current one in every step. */
static void fill_goals(drv_scene *scene, const drv_scene_input *in) {
    for (int64_t i = 0; i < DRV_COUNT_GOAL_HEADINGS(scene); i++) {
        const drv_point along = own_direction(in->goal_has_heading, in->goal_heading_rad, i);
        scene->goal_direction_x[i] = along.x;
        scene->goal_direction_y[i] = along.y;
    }
    for (int32_t i = 0; i < scene->listed_count; i++) {
        const drv_point along = own_direction(in->listed_has_heading, in->listed_heading_rad, i);
        const drv_point at = {in->listed_x_m[i], in->listed_y_m[i]};
        const drv_goal_place place = in->lane_start
            ? drv_goal_nearest_lane(scene, at, scene->has_height ? in->listed_z_m[i] : 0.0f)
            : (drv_goal_place){-1, 0.0f};
        scene->listed_direction_x[i] = along.x;
        scene->listed_direction_y[i] = along.y;
        scene->listed_lane[i] = place.lane;
        scene->listed_along_m[i] = place.along_m;
    }
}

/* ---- calls ---- */

/* Not inlined, so that the compiler moves no computation out of the core's floating-point environment. */
__attribute__((noinline)) static drv_status create(const drv_scene_input *in, drv_arena *arena, drv_scene **out,
                                                   char *message) {
    /* check the input, and count its segments */
    *out = NULL;
    drv_status status = drv_scene_input_check(in, message);
    if (status != DRV_OK) return status;
    const int64_t count = drv_segments_split(in, NULL);
    if (count > DRV_POINT_LIMIT)
        return drv_fail(message, DRV_ERROR_SCENE, "scene %.80s: its roads make %lld segments; at most %d are allowed",
                        in->name, (long long)count, DRV_POINT_LIMIT);

    /* split and sort the segments, from which the sizes of all arrays follow */
    drv_road_segment *pieces = malloc((size_t)(count > 0 ? count : 1) * sizeof *pieces);
    drv_scene plan = {.dt_s = in->dt_s,
                      .trial_steps = in->trial_steps,
                      .num_agents = in->num_agents,
                      .log_replay_count = in->log_replay_count,
                      .rule_based_count = in->rule_based_count,
                      .vehicle_count = in->vehicle_count,
                      .candidate_count = in->candidate_count,
                      .listed_count = in->listed_count,
                      .script_count = in->script_count,
                      .frame_count = in->frame_count,
                      .road_count = in->road_count,
                      .control_count = in->control_count,
                      .controlled_count = in->controlled_count,
                      .phase_count = in->phase_count,
                      .agent_log_frames = in->agent_log_frames,
                      .has_goal_headings = in->has_goal_headings,
                      .has_height = in->has_height};
    drv_scene *scene = NULL;
    if (pieces) {
        int32_t edge_count = 0;
        drv_segments_split(in, pieces);
        plan.grid = drv_segments_sort(pieces, count);
        for (int64_t i = 0; i < count; i++) edge_count += in->road_kind[pieces[i].road] == DRV_ROAD_EDGE;
        if (in->lane_start) plan.lanes = drv_lanes_measure(in);
        scene = allocate(&plan, arena, (int32_t)count, edge_count, in->lane_start != NULL);
    }

    /* fill the arrays; the paths follow from the lanes */
    if (scene) {
        strncpy(scene->name, in->name, DRV_SCENE_NAME_BYTES - 1);
        copy_arrays(scene, in);
        fill_vehicles(scene, in);
        fill_stop_lines(scene);
        fill_programs(scene, in);
        fill_roads(scene, in, pieces, count);
        if (in->lane_start) drv_lanes_fill(&scene->lanes, in);
        fill_goals(scene, in);
        uint64_t path_bytes, zone_bytes, line_bytes, route_bytes = 0, neighbour_bytes = 0;
        const drv_controls controls = drv_scene_controls(scene);
        const bool has_paths =
            (!in->has_routes || drv_agent_routes_create(scene, arena, &scene->routes, &route_bytes)) &&
            drv_paths_create(in, &scene->lanes, arena, &scene->paths, &path_bytes);
        if (has_paths) fill_path_heights(scene);
        if (has_paths &&
            drv_zones_create(&scene->paths, scene->width_m + drv_scene_rule_first(scene), arena, &scene->zones,
                             &zone_bytes) &&
            (!in->has_lane_changes || drv_neighbours_create(&scene->lanes, &scene->paths, &scene->zones, arena,
                                                            &scene->neighbours, &neighbour_bytes)) &&
            drv_stop_lines_create(&controls, &scene->lanes, &scene->paths, &scene->zones, arena, &scene->stop_lines,
                                  &line_bytes)) {
            fill_rule_based(scene);
            scene->bytes += path_bytes + zone_bytes + line_bytes + route_bytes + neighbour_bytes;
        } else {
            drv_scene_release(scene);
            scene = NULL;
        }
    }
    if (!scene) {
        status = drv_fail(message, DRV_ERROR_MEMORY,
                          "scene %.80s: no memory for its %lld road segments, %d vehicles and %d frames", in->name,
                          (long long)count, in->vehicle_count, in->frame_count);
    }
    free(pieces);
    *out = scene;
    return status;
}

drv_status drv_scene_create(const drv_scene_input *in, drv_arena *arena, drv_scene **out, char *message) {
    const drv_fp_env saved = drv_fp_env_begin();
    const drv_status status = create(in, arena, out, message);
    drv_fp_env_end(saved);
    return status;
}

void drv_scene_retain(drv_scene *scene) { atomic_fetch_add(&scene->references, 1); }

void drv_scene_release(drv_scene *scene) {
    if (!scene || atomic_fetch_sub(&scene->references, 1) != 1) return;
    drv_memory_release(scene->paths.point_start); /* the starts of the blocks */
    drv_memory_release(scene->zones.next);
    drv_memory_release(scene->neighbours.offset_m[DRV_LEFT]);
    drv_memory_release(scene->routes.point_start);
    drv_memory_release(scene->stop_lines.start);
    drv_memory_release(scene);
}

drv_scene_facts drv_scene_describe(const drv_scene *scene) {
    int32_t path_count = 0;
    for (int32_t i = 0; i < scene->paths.count; i++) path_count += drv_path_points(&scene->paths, i) > 0;
    return (drv_scene_facts){scene->segments.count, scene->edges.count, scene->grid.columns * scene->grid.rows,
                             path_count, scene->grid.cell_m, scene->bytes};
}
