/* Does a scene hold the numbers of its input, and is an invalid input refused? */
#include "scene/scene.h"

#include <stdlib.h>

#include "check.h"
#include "rng.h"
#include "scene_fixture.h"
#include "small_scene.h"

/* ---- what a scene holds ---- */

TEST(a_scene_holds_the_numbers_of_its_input) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    CHECK(strcmp(scene->name, "small") == 0, "%s", scene->name);
    CHECK(scene->num_agents == SMALL_AGENTS && scene->log_replay_count == SMALL_LOG_REPLAYS &&
          scene->vehicle_count == SMALL_VEHICLES && scene->frame_count == SMALL_FRAMES, "counts");
    CHECK(scene->start_x_m[3] == -30.0f && scene->start_speed_mps[0] == 10.0f && scene->start_speed_mps[3] == 0.0f,
          "starts");
    CHECK(scene->log_y_m[5] == 5.0f && scene->log_y_m[3] == 0.0f && scene->log_valid[3] == 0, "log");
    CHECK_NEAR(scene->log_speed_mps[0], 10.0, 1e-5);
    CHECK_NEAR(scene->radius_m[0], 0.5 * hypot(4.0, 2.0), 1e-6);
    const drv_scene_facts facts = drv_scene_describe(scene);
    /* 105 m of lane in eleven pieces, edges of 20 and 40 m in two and four, 8 m of line in one, one sign. */
    CHECK(facts.segment_count == 11 + 6 + 1 + 1 && facts.edge_segment_count == 6, "%d segments, %d of edges",
          facts.segment_count, facts.edge_segment_count);
    CHECK(facts.bytes > sizeof *scene, "facts");
    drv_scene_release(scene);
}

TEST(a_scene_is_a_copy_and_outlives_its_input) {
    small_scene *small = malloc(sizeof *small);
    make_small(small);
    char *name = malloc(8);
    strcpy(name, "lent");
    small->input.name = name;
    drv_scene *scene = scene_of(&small->input);
    free(name);
    free(small);
    CHECK(strcmp(scene->name, "lent") == 0 && scene->segments.middle_x_m[0] < 100.0f, "%s", scene->name);
    drv_scene_release(scene);
}

TEST(a_scene_is_freed_with_its_last_reference) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    drv_scene_retain(scene);
    drv_scene_release(scene);
    CHECK(scene->num_agents == SMALL_AGENTS, "it is gone");
    drv_scene_release(scene);
    drv_scene_release(NULL);
}

TEST(start_speeds_are_the_part_along_the_heading) {
    small_scene small;
    make_small(&small);
    small.heading_rad[0] = 1.5707964f;
    small.vx_mps[0] = 30.0f; /* sideways: no part of it is kept */
    small.vy_mps[0] = 7.0f;
    small.vx_mps[1] = -5.0f;
    drv_scene *scene = scene_of(&small.input);
    CHECK_NEAR(scene->start_speed_mps[0], 7.0, 1e-5);
    CHECK(scene->start_speed_mps[1] == -5.0f, "%g", (double)scene->start_speed_mps[1]);
    drv_scene_release(scene);
}

/* ---- traffic lights ---- */

TEST(the_ends_of_phases_are_rounded_to_steps_not_their_durations) {
    small_scene small;
    make_small(&small);
    drv_scene *scene = scene_of(&small.input);
    /* 0.27, 0.54 and 1 s at 0.1 s; 1.2 s are a fifth of a second into the second cycle */
    const int32_t *end = scene->control_phase_end;
    CHECK(end[0] == 3 && end[1] == 5 && end[2] == 10, "%d, %d, %d", end[0], end[1], end[2]);
    CHECK(scene->control_offset_steps[0] == 2 && scene->control_offset_steps[1] == 0, "%d, %d",
          scene->control_offset_steps[0], scene->control_offset_steps[1]);
    drv_scene_release(scene);
}

TEST(a_phase_shorter_than_a_step_takes_one) {
    small_scene small;
    make_small(&small);
    small.control_phase_s[0] = small.control_phase_s[1] = 0.01f;
    small.input.dt_s = 2.0f;
    drv_scene *scene = scene_of(&small.input);
    const int32_t *end = scene->control_phase_end;
    CHECK(end[0] == 1 && end[1] == 2 && end[2] == 3, "%d, %d, %d", end[0], end[1], end[2]);
    drv_scene_release(scene);
}

/* ---- roads ---- */

enum { LINE_POINTS = 40 };

TEST(split_roads_keep_their_length_and_are_in_their_cells) {
    test_rng rng = {51};
    for (int32_t round = 0; round < 60; round++) {
        /* two random polylines, a lane and an edge, and their length */
        small_scene small;
        make_small(&small);
        float x_m[LINE_POINTS], y_m[LINE_POINTS];
        double length_m = 0.0;
        const double spread_m = round % 3 ? 60.0 : 3.0;
        for (int32_t i = 0; i < LINE_POINTS; i++) {
            x_m[i] = (float)rng_between(&rng, -spread_m, spread_m);
            y_m[i] = (float)rng_between(&rng, -spread_m, spread_m);
            if (i > 0 && i < 20) length_m += hypot((double)(x_m[i] - x_m[i - 1]), (double)(y_m[i] - y_m[i - 1]));
            if (i > 20) length_m += hypot((double)(x_m[i] - x_m[i - 1]), (double)(y_m[i] - y_m[i - 1]));
        }
        const int32_t start[] = {0, 20, LINE_POINTS};
        const uint8_t kind[] = {DRV_ROAD_LANE, DRV_ROAD_EDGE};
        const float zero[] = {0.0f, 0.0f};
        small.input.road_count = 2;
        small.input.control_count = small.input.controlled_count = small.input.phase_count = 0;
        small.input.point_count = LINE_POINTS;
        small.input.road_start = start;
        small.input.road_kind = kind;
        small.input.road_width_m = small.input.road_speed_limit_mps = zero;
        small.input.point_x_m = x_m;
        small.input.point_y_m = y_m;
        /* their segments */
        drv_scene *scene = scene_of(&small.input);
        const drv_segments *segments = &scene->segments;
        double found_m = 0.0;
        int32_t edges = 0;
        for (int32_t i = 0; i < segments->count; i++) {
            const float half_m = segments->half_length_m[i];
            CHECK(half_m > 0.0f && half_m <= 0.5f * drv_segment_limit_m, "half length %g", (double)half_m);
            CHECK_NEAR(hypotf(segments->along_x[i], segments->along_y[i]), 1.0, 1e-6);
            found_m += 2.0 * (double)half_m;
            const int32_t cell = drv_grid_cell(&scene->grid, segments->middle_x_m[i], segments->middle_y_m[i]);
            CHECK(segments->cell_start[cell] <= i && i < segments->cell_start[cell + 1],
                  "segment %d is not in its cell", i);
            edges += scene->road_kind[scene->segment_road[i]] == DRV_ROAD_EDGE;
        }
        CHECK_NEAR(found_m, length_m, 1e-3 * length_m);
        CHECK(edges == scene->edges.count, "%d edges against %d", edges, scene->edges.count);
        const int32_t cells = scene->grid.columns * scene->grid.rows;
        CHECK(segments->cell_start[cells] == segments->count, "cells end early");
        CHECK(scene->edges.cell_start[cells] == scene->edges.count, "edge cells end early");
        drv_scene_release(scene);
    }
}

TEST(a_segment_on_the_boundary_of_the_map_is_kept) {
    small_scene small;
    make_small(&small);
    /* A square of edges whose middles are on the four sides of the grid. */
    const float x_m[] = {-20, 20, 20, -20, -20}, y_m[] = {-20, -20, 20, 20, -20};
    const int32_t start[] = {0, 5};
    const uint8_t kind[] = {DRV_ROAD_EDGE};
    small.input.road_count = 1;
    small.input.control_count = small.input.controlled_count = small.input.phase_count = 0;
    small.input.point_count = 5;
    small.input.road_start = start;
    small.input.road_kind = kind;
    small.input.point_x_m = x_m;
    small.input.point_y_m = y_m;
    drv_scene *scene = scene_of(&small.input);
    CHECK(scene->edges.count == 16, "%d", scene->edges.count);
    for (int32_t side = 0; side < 4; side++) {
        int32_t found = 0;
        for (int32_t i = 0; i < scene->edges.count; i++)
            found += side < 2 ? scene->edges.middle_x_m[i] == (side ? 20.0f : -20.0f)
                              : scene->edges.middle_y_m[i] == (side == 2 ? 20.0f : -20.0f);
        CHECK(found == 4, "side %d has %d", side, found);
    }
    drv_scene_release(scene);
}

TEST(a_scene_without_roads_is_a_scene) {
    small_scene small;
    make_small(&small);
    small.input.road_count = small.input.point_count = 0;
    small.input.control_count = small.input.controlled_count = small.input.phase_count = 0;
    small.input.road_kind = NULL;
    small.input.road_width_m = small.input.road_speed_limit_mps = NULL;
    small.input.point_x_m = small.input.point_y_m = NULL;
    drv_scene *scene = scene_of(&small.input);
    CHECK(scene->segments.count == 0 && scene->edges.count == 0, "%d", scene->segments.count);
    CHECK(drv_scene_describe(scene).cell_count == 1, "%d", drv_scene_describe(scene).cell_count);
    drv_scene_release(scene);
}

TEST(repeated_points_count_once) {
    small_scene small;
    make_small(&small);
    /* The lane's two points coincide: it is a point. The edge's first two do: it is a single line. */
    small.point_x_m[1] = small.point_x_m[0];
    small.point_x_m[3] = small.point_x_m[2];
    drv_scene *scene = scene_of(&small.input);
    CHECK(scene->segments.count == 1 + 6 + 1 + 1 && scene->edges.count == 6, "%d segments, %d of edges",
          scene->segments.count, scene->edges.count);
    drv_scene_release(scene);
}

TEST(a_map_as_wide_as_coordinates_go_has_few_enough_cells) {
    small_scene small;
    make_small(&small);
    small.point_x_m[0] = small.point_y_m[0] = -50000.0f;
    small.point_x_m[1] = small.point_y_m[1] = 50000.0f;
    drv_scene *scene = scene_of(&small.input);
    const drv_scene_facts facts = drv_scene_describe(scene);
    CHECK(facts.cell_count <= DRV_CELL_LIMIT && facts.cell_size_m > 100.0f, "%d cells of %g m", facts.cell_count,
          (double)facts.cell_size_m);
    /* the lane is a diagonal of 141,421 m, in pieces of at most 10 m */
    CHECK(facts.segment_count > 14142, "%d", facts.segment_count);
    drv_scene_release(scene);
}

/* ---- what a scene refuses ---- */

static const float not_a_number = NAN, infinite = INFINITY;

/* Each case breaks a valid input in one place. Returns what the message must name; NULL past the last case. */
static const char *break_input(int32_t number, small_scene *small, const char **about) {
#define BREAK(change, named)     \
    if (number-- == 0) {         \
        change;                  \
        *about = #change;        \
        return named;            \
    }
#define BREAK_VALUE(place, named)            \
    BREAK(place = not_a_number, named)       \
    BREAK(place = infinite, named)            \
    BREAK(place = -infinite, named)           \
    BREAK(place = 1e30f, named)
    drv_scene_input *in = &small->input;
    BREAK(in->vehicle_count = 0, "vehicle_count")
    BREAK(in->vehicle_count = -1, "vehicle_count")
    BREAK(in->vehicle_count = INT32_MIN, "vehicle_count")
    BREAK(in->vehicle_count = INT32_MAX, "vehicle_count")
    BREAK(in->vehicle_count = 65536, "vehicle_count")
    BREAK(in->num_agents = 0, "num_agents")
    BREAK(in->num_agents = -2, "num_agents")
    BREAK(in->num_agents = 5, "num_agents")
    BREAK(in->num_agents = INT32_MAX, "num_agents")
    BREAK(in->log_replay_count = -1, "log_replay_count")
    BREAK(in->log_replay_count = 3, "log_replay_count")
    BREAK(in->log_replay_count = INT32_MAX, "log_replay_count")
    BREAK(in->log_replay_count = INT32_MIN, "log_replay_count")
    BREAK(in->rule_based_count = -1, "rule_based_count")
    BREAK(in->rule_based_count = 2, "rule_based_count")
    BREAK(in->rule_based_count = INT32_MAX, "rule_based_count")
    BREAK(in->frame_count = 0, "frame_count")
    BREAK(in->frame_count = -6, "frame_count")
    BREAK(in->frame_count = INT32_MAX, "frame_count")
    BREAK(in->trial_steps = 0, "trial_steps")
    BREAK(in->trial_steps = -1, "trial_steps")
    BREAK(in->trial_steps = INT32_MAX, "trial_steps")
    BREAK(in->agent_log_frames = -1, "agent_log_frames")
    BREAK(in->agent_log_frames = 7, "agent_log_frames")
    BREAK(in->has_lane_changes = 1, "has_lane_changes") /* it has no lane graph */
    BREAK(in->has_routes = 1, "has_routes") /* it has no lane graph */
    BREAK(in->road_count = -1, "road_count")
    BREAK(in->road_count = INT32_MAX, "road_count")
    BREAK(in->point_count = -1, "point_count")
    BREAK(in->point_count = INT32_MAX, "point_count")
    BREAK(in->point_count = 7, "road_start")
    BREAK(in->point_count = 9, "road_start")
    BREAK(in->road_count = 3, "road_start")
    BREAK_VALUE(in->dt_s, "dt_s")
    BREAK(in->dt_s = 0.0f, "dt_s")
    BREAK(in->dt_s = -0.1f, "dt_s")
    BREAK(in->dt_s = 2.1f, "dt_s")
    BREAK(small->kind[0] = 0, "kind of vehicle 0")
    BREAK(small->kind[3] = 5, "kind of vehicle 3")
    BREAK(small->kind[2] = 255, "kind of vehicle 2")
    BREAK_VALUE(small->length_m[1], "length_m of vehicle 1")
    BREAK(small->length_m[2] = 0.0f, "length_m of vehicle 2")
    BREAK(small->length_m[2] = -4.0f, "length_m of vehicle 2")
    BREAK_VALUE(small->width_m[3], "width_m of vehicle 3")
    BREAK(small->width_m[0] = 0.0f, "width_m of vehicle 0")
    BREAK_VALUE(small->x_m[0], "start_x_m of vehicle 0")
    BREAK_VALUE(small->x_m[3], "start_x_m of vehicle")
    BREAK_VALUE(small->y_m[1], "start_y_m of vehicle 1")
    BREAK(small->y_m[1] = 50001.0f, "start_y_m of vehicle 1")
    BREAK_VALUE(small->heading_rad[1], "start_heading_rad of vehicle 1")
    BREAK_VALUE(small->vx_mps[0], "start_vx_mps of vehicle 0")
    BREAK_VALUE(small->vy_mps[1], "start_vy_mps of vehicle 1")
    BREAK(small->vy_mps[1] = -201.0f, "start_vy_mps of vehicle 1")
    BREAK_VALUE(small->goal_x_m[0], "goal_x_m of agent 0")
    BREAK_VALUE(small->goal_y_m[1], "goal_y_m of agent 1")
    BREAK(small->log_valid[2] = 2, "log_valid of log entry 2")
    BREAK(small->log_valid[5] = 255, "log_valid of log entry 5")
    BREAK_VALUE(small->log_x_m[5], "log_x_m of log entry 5")
    BREAK_VALUE(small->log_y_m[0], "log_y_m of log entry 0")
    BREAK_VALUE(small->log_heading_rad[1], "log_heading_rad of log entry 1")
    BREAK_VALUE(small->log_vx_mps[2], "log_vx_mps of log entry 2")
    BREAK_VALUE(small->log_vy_mps[4], "log_vy_mps of log entry 4")
    BREAK(small->road_start[0] = 1, "road_start")
    BREAK(small->road_start[0] = -1, "road_start")
    BREAK(small->road_start[4] = INT32_MAX, "road_start")
    BREAK(small->road_start[4] = INT32_MIN, "road_start")
    BREAK(small->road_start[1] = 0, "road 0")
    BREAK(small->road_start[2] = 2, "road 1")
    BREAK(small->road_start[2] = 7, "road 2")
    BREAK(small->road_start[1] = -3, "road_start of entry 1")
    BREAK(small->road_start[1] = 1000000, "road 1")
    BREAK(small->road_kind[0] = 0, "road_kind of road 0")
    BREAK(small->road_kind[3] = 8, "road_kind of road 3")
    BREAK_VALUE(small->road_width_m[1], "road_width_m of road 1")
    BREAK(small->road_width_m[1] = -1.0f, "road_width_m of road 1")
    BREAK_VALUE(small->road_speed_limit_mps[2], "road_speed_limit_mps of road 2")
    BREAK(small->road_speed_limit_mps[2] = -1.0f, "road_speed_limit_mps of road 2")
    BREAK_VALUE(small->point_x_m[7], "point_x_m of point 7")
    BREAK_VALUE(small->point_y_m[0], "point_y_m of point 0")
    BREAK(small->point_y_m[0] = 50001.0f, "point_y_m of point 0")
    BREAK(in->has_height = 2, "has_height")
    BREAK((in->has_height = 1, small->point_z_m[7] = NAN), "point_z_m of point 7")
    BREAK((in->has_height = 1, small->point_z_m[0] = -50001.0f), "point_z_m of point 0")
    BREAK((in->has_height = 1, small->start_z_m[3] = 50101.0f), "start_z_m of vehicle 3")
    BREAK((in->has_height = 1, small->goal_z_m[1] = INFINITY), "goal_z_m of agent 1")
    BREAK((in->has_height = 1, small->log_z_m[5] = NAN), "log_z_m of log entry 5")
    BREAK((in->has_height = 1, small->control_z_m[2] = NAN), "control_z_m of control 2")
    BREAK(in->control_count = -1, "control_count")
    BREAK(in->control_count = 65536, "control_count")
    BREAK(in->control_count = 0, "controlled_count")
    BREAK(in->controlled_count = INT32_MAX, "controlled_count")
    BREAK(in->controlled_count = 0, "control_start")
    BREAK(in->phase_count = -1, "phase_count")
    BREAK(in->phase_count = 2, "control_phase_start")
    BREAK(small->control_kind[1] = 4, "control_kind of control 1")
    BREAK_VALUE(small->control_line_m[7], "control_line_m of number 7")
    BREAK(small->control_start[1] = -1, "control_start of entry 1")
    BREAK(small->control_start[0] = 1, "control_start")
    BREAK(small->control_start[1] = 2, "control_start of entry 2")
    BREAK(small->control_lane[0] = 1, "control_lane of entry 0")
    BREAK(small->control_lane[0] = 4, "control_lane of entry 0")
    BREAK(small->control_state[11] = 4, "control_state of entry 11")
    BREAK(small->control_phase_start[2] = 2, "control_phase_start")
    BREAK(small->control_phase_state[0] = 9, "control_phase_state of phase 0")
    BREAK_VALUE(small->control_phase_s[1], "control_phase_s of phase 1")
    BREAK(small->control_phase_s[1] = 0.0f, "control_phase_s of phase 1")
    BREAK_VALUE(small->control_offset_s[1], "control_offset_s of control 1")
    BREAK(small->control_junction[1] = SMALL_CONTROLS, "control_junction of control 1")
    BREAK(small->control_junction[0] = -2, "control_junction of control 0")
    BREAK(in->has_goal_headings = 2, "has_goal_headings")
    BREAK((in->has_goal_headings = 1, small->goal_has_heading[0] = 2), "goal_has_heading of agent 0")
    BREAK((in->has_goal_headings = 1, small->goal_heading_rad[1] = NAN), "goal_heading_rad of agent 1")
    BREAK((in->has_goal_headings = 1, small->goal_heading_rad[1] = 101.0f), "goal_heading_rad of agent 1")
    BREAK(in->listed_count = -1, "listed_count")
    BREAK(in->listed_count = 131071, "listed_count")
    BREAK(in->listed_count = 2, "listed_start")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_start[0] = 1), "listed_start")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_start[1] = 4), "listed_start of entry 2")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_start[1] = -1), "listed_start of entry 1")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_repeats[0] = 2), "listed_repeats of agent 0")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_x_m[2] = NAN), "listed_x_m of listed goal 2")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_y_m[0] = 50001.0f), "listed_y_m of listed goal 0")
    BREAK((in->listed_count = SMALL_LISTED, in->has_height = 1, small->listed_z_m[1] = NAN),
          "listed_z_m of listed goal 1")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_has_heading[0] = 2), "listed_has_heading of listed goal 0")
    BREAK((in->listed_count = SMALL_LISTED, small->listed_heading_rad[1] = INFINITY),
          "listed_heading_rad of listed goal 1")
    BREAK(in->script_count = -1, "script_count")
    BREAK(in->script_count = 2, "script_count")
    in->script_count = 1; /* in all cases below: without scripts their arrays are not read */
    BREAK(small->script_vehicle[0] = 1, "script_vehicle of script 0")
    BREAK(small->script_vehicle[0] = 3, "script_vehicle of script 0")
    BREAK(small->script_group[0] = -1, "script_group of script 0")
    BREAK(small->script_option[0] = 2, "script_option of script 0")
    BREAK(small->script_options[0] = 0, "script_options of script 0")
    BREAK_VALUE(small->script_line_m[3], "script_line_m of number 3")
    return NULL;
#undef BREAK
#undef BREAK_VALUE
}

/* An error names scene, array and range, and leaves no scene and, by the sanitizer, no memory behind. */
static void check_refused(const small_scene *small, const char *about, const char *named) {
    char *message = malloc(DRV_MESSAGE_BYTES);
    memset(message, 'x', DRV_MESSAGE_BYTES);
    drv_scene *scene = (drv_scene *)(uintptr_t)64; /* neither NULL nor a scene */
    const drv_status status = drv_scene_create(&small->input, NULL, &scene, message);
    CHECK(status == DRV_ERROR_SCENE && scene == NULL, "%s: status %d", about, status);
    if (status == DRV_OK) drv_scene_release(scene);
    message[DRV_MESSAGE_BYTES - 1] = '\0';
    CHECK(strstr(message, "scene small") && strstr(message, named) && strstr(message, " must "),
          "%s: it says \"%s\"", about, message);
    free(message);
}

TEST(every_broken_part_is_refused_by_name) {
    const char *about = "", *named;
    small_scene small;
    int32_t number = 0;
    for (;; number++) {
        make_small(&small);
        named = break_input(number, &small, &about);
        if (!named) break;
        check_refused(&small, about, named);
    }
    CHECK(number > 120, "only %d cases", number);
}

TEST(a_road_that_runs_backwards_by_more_than_an_int_is_refused) {
    small_scene small;
    make_small(&small);
    small.road_start[2] = INT32_MIN;
    check_refused(&small, "road_start[2] = INT32_MIN", "road_start of entry 2");
}

/* ---- the list of arrays ---- */

TEST(the_list_names_every_array_of_the_input_once) {
    const int32_t count = drv_scene_array_fields(NULL, 0);
    drv_scene_array_field *fields = calloc((size_t)count, sizeof *fields);
    CHECK(drv_scene_array_fields(fields, count) == count, "%d", count);
    /* The input ends with one pointer per array. */
    CHECK(offsetof(drv_scene_input, kind) + (size_t)count * sizeof(void *) == sizeof(drv_scene_input), "%d", count);
    for (int32_t i = 0; i < count; i++)
        for (int32_t j = 0; j < i; j++) CHECK(strcmp(fields[i].name, fields[j].name) != 0, "%s", fields[i].name);
    free(fields);
}

TEST(goals_have_the_directions_of_their_own_headings_and_lanes_within_reach) {
    const int32_t lane_start[SMALL_ROADS + 1] = {0};
    small_scene small;
    make_small(&small);
    small.input.listed_count = SMALL_LISTED;
    small.input.has_goal_headings = 1;
    small.goal_heading_rad[0] = small.listed_heading_rad[0] = NAN; /* not read */
    drv_scene *scene = scene_of(&small.input);
    CHECK(scene->goal_direction_x[0] == 0.0f && scene->goal_direction_y[0] == 0.0f, "agent 0 has no heading");
    CHECK(scene->goal_direction_x[1] == 1.0f && scene->goal_direction_y[1] == 0.0f, "agent 1 has heading 0");
    CHECK(scene->listed_direction_x[0] == 0.0f && fabsf(scene->listed_direction_y[1] - sinf(1.5f)) < 1e-6f, "lists");
    for (int32_t i = 0; i < SMALL_LISTED; i++) CHECK(scene->listed_lane[i] == -1, "a scene without a lane graph");
    drv_scene_release(scene);

    small.input.lane_start = lane_start;
    scene = scene_of(&small.input); /* whose lane begins at x -10 */
    CHECK(scene->listed_lane[0] == 0 && scene->listed_along_m[0] == 22.0f, "%g", (double)scene->listed_along_m[0]);
    CHECK(scene->listed_lane[1] == 0 && scene->listed_along_m[1] == 26.0f, "%g", (double)scene->listed_along_m[1]);
    CHECK(scene->listed_lane[2] == -1, "20 m beside the lane");
    drv_scene_release(scene);
}

TEST(what_is_not_valid_in_a_log_is_not_read) {
    small_scene small;
    make_small(&small);
    small.log_x_m[3] = NAN;
    small.log_vx_mps[3] = INFINITY;
    small.x_m[2] = NAN; /* a log-replay vehicle starts at its first frame */
    drv_scene *scene = scene_of(&small.input);
    CHECK(scene->log_x_m[3] == 0.0f && scene->log_speed_mps[3] == 0.0f && scene->start_x_m[2] == 0.0f, "it was read");
    drv_scene_release(scene);
}

TEST(roads_of_too_many_segments_are_refused_before_memory_is_allocated) {
    /* lanes of 100 km, each of which would have 10,000 segments */
    enum { ROADS = 1700 };
    small_scene small;
    make_small(&small);
    int32_t *start = calloc(ROADS + 1, sizeof *start);
    uint8_t *kind = calloc(ROADS, sizeof *kind);
    float *zero = calloc(ROADS, sizeof *zero);
    float *x_m = calloc(2 * ROADS, sizeof *x_m), *y_m = calloc(2 * ROADS, sizeof *y_m);
    for (int32_t i = 0; i < ROADS; i++) {
        start[i + 1] = 2 * (i + 1);
        kind[i] = DRV_ROAD_LANE;
        x_m[2 * i] = -50000.0f;
        x_m[2 * i + 1] = 50000.0f;
    }
    /* a scene of these lanes */
    small.input.road_count = ROADS;
    small.input.point_count = 2 * ROADS;
    small.input.road_start = start;
    small.input.road_kind = kind;
    small.input.road_width_m = small.input.road_speed_limit_mps = zero;
    small.input.point_x_m = x_m;
    small.input.point_y_m = y_m;
    char message[DRV_MESSAGE_BYTES];
    drv_scene *scene = NULL;
    const drv_status status = drv_scene_create(&small.input, NULL, &scene, message);
    CHECK(status == DRV_ERROR_SCENE && !scene && strstr(message, "17000000 segments"), "%d: %s", status, message);
    free(start);
    free(kind);
    free(zero);
    free(x_m);
    free(y_m);
}

TEST(random_bytes_are_refused_or_make_a_scene) {
    test_rng rng = {52};
    const int32_t rounds = check_cases(20000);
    int32_t created = 0, refused = 0;
    for (int32_t round = 0; round < rounds; round++) {
        small_scene small;
        make_small(&small);
        uint8_t *bytes = (uint8_t *)&small;
        const int32_t changes = 1 + rng_below(&rng, 3);
        /* a few bytes of the arrays, and at times a count; never the pointers to the arrays */
        for (int32_t i = 0; i < changes; i++)
            bytes[rng_below(&rng, (int32_t)offsetof(small_scene, input))] = (uint8_t)rng_bits(&rng);
        if (round % 4 == 0) small.input.num_agents = rng_below(&rng, 7) - 1;
        if (round % 8 == 0) small.input.log_replay_count = rng_below(&rng, 3) - 1;
        if (round % 16 == 0) small.input.road_count = rng_below(&rng, SMALL_ROADS + 2) - 1;
        /* Only the goals of two agents and one log may be read. */
        if (small.input.num_agents > SMALL_AGENTS) small.input.num_agents = SMALL_AGENTS;
        /* an error, or a scene */
        char message[DRV_MESSAGE_BYTES];
        drv_scene *scene = NULL;
        const drv_status status = drv_scene_create(&small.input, NULL, &scene, message);
        CHECK((status == DRV_OK) == (scene != NULL), "status %d", status);
        created += status == DRV_OK;
        refused += status != DRV_OK;
        drv_scene_release(scene);
    }
    CHECK(created > rounds / 20 && refused > rounds / 20, "%d created, %d refused", created, refused);
}

TEST(a_long_name_is_truncated) {
    small_scene small;
    make_small(&small);
    char name[5000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    small.input.name = name;
    drv_scene *scene = scene_of(&small.input);
    CHECK(strlen(scene->name) == DRV_SCENE_NAME_BYTES - 1, "%d characters", (int)strlen(scene->name));
    drv_scene_release(scene);
    small.input.dt_s = 0.0f;
    char *message = malloc(DRV_MESSAGE_BYTES);
    CHECK(drv_scene_create(&small.input, NULL, &scene, message) == DRV_ERROR_SCENE, "it was accepted");
    CHECK(strstr(message, "dt_s") != NULL, "the name leaves no space for the reason: %s", message);
    free(message);
}
