/* With which numbers of a scene does the core crash or break a law?
 *
 * The input is a recipe, one byte per number: most of the 256 bytes stand for a number in the allowed range, the
 * highest few for an unusual or invalid one. Every array has exactly the size that its counts say. */
#include <float.h>

#include "play_scene.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VEHICLES = 8, FRAMES = 6, ROADS = 8, POINTS = 24, LINKS = 12, CONTROLS = 4, PHASES = 6, LISTED = 5 };

typedef struct recipe {
    const uint8_t *at, *end;
} recipe;

static uint8_t next(recipe *from) { return from->at < from->end ? *from->at++ : 0; }

static float number(recipe *from, float low, float high) {
    const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, FLT_MIN, 1e-45f, -1e-45f, FLT_MAX, -FLT_MAX, low, high,
                         nextafterf(low, -INFINITY), nextafterf(high, INFINITY), 0.999f * high, 0.999f * low};
    const int32_t plain = 256 - (int32_t)(sizeof odd / sizeof *odd);
    const uint8_t byte = next(from);
    return byte < plain ? low + (high - low) * (float)byte / (float)(plain - 1) : odd[byte - plain];
}

/* Near the middle of the map, so that things meet; far away or not finite for the highest few bytes. */
static float place(recipe *from) {
    const float odd[] = {50000.0f, -50000.0f, 50000.01f, NAN, 1999.0f, -INFINITY};
    const int32_t plain = 256 - (int32_t)(sizeof odd / sizeof *odd);
    const uint8_t byte = next(from);
    return byte < plain ? (float)(byte - 125) * 0.5f : odd[byte - plain];
}

static float *numbers(recipe *from, int32_t count, float low, float high) {
    float *out = play_array(count, sizeof *out);
    for (int32_t i = 0; i < count; i++) out[i] = number(from, low, high);
    return out;
}

static float *places(recipe *from, int32_t count) {
    float *out = play_array(count, sizeof *out);
    for (int32_t i = 0; i < count; i++) out[i] = place(from);
    return out;
}

/* Mostly `low` to `high`; beyond them for the highest few bytes. */
static uint8_t *codes(recipe *from, int32_t count, int32_t low, int32_t high) {
    uint8_t *out = play_array(count, 1);
    for (int32_t i = 0; i < count; i++) {
        const uint8_t byte = next(from);
        out[i] = byte < 250 ? (uint8_t)(low + byte % (high - low + 1)) : byte;
    }
    return out;
}

static int32_t *starts(recipe *from, int32_t roads, int32_t points) {
    int32_t *out = play_array(roads + 1, sizeof *out);
    for (int32_t i = 0; i <= roads; i++) out[i] = roads ? i * points / roads : 0;
    const uint8_t spoil = next(from);
    if (spoil >= 224) out[spoil % (roads + 1)] = (int32_t)(int8_t)next(from) * (spoil % 2 ? 1 : 1 << 24);
    return out;
}

/* Mostly indices of roads; of no road for the highest few bytes. */
static int32_t *links_to(recipe *from, int32_t links, int32_t roads) {
    int32_t *out = play_array(links, sizeof *out);
    for (int32_t i = 0; i < links; i++) {
        const uint8_t byte = next(from);
        out[i] = byte < 248 ? byte % roads : (int32_t)(int8_t)byte * (byte % 2 ? 1 : 1 << 24);
    }
    return out;
}

/* Traffic lights and signs, of which some are at the middle of the map and apply to any road. */
typedef struct controls {
    uint8_t *kind, *state, *phase_state;
    int32_t *start, *lane, *phase_start, *junction;
    float *line_m, *phase_s, *offset_s;
} controls;

static controls make_controls(recipe *from, drv_scene_input *in, int32_t frames, int32_t roads) {
    /* the arrays */
    const int32_t count = next(from) % (CONTROLS + 1), phases = count ? next(from) % (PHASES + 1) : 0;
    const int32_t lanes = count && roads && next(from) % 4 == 0 ? 1 + next(from) % 3 : 0; /* few roads are lanes */
    const controls made = {
        .kind = codes(from, count, DRV_TRAFFIC_LIGHT, DRV_YIELD_SIGN),
        .state = codes(from, frames * count, DRV_LIGHT_OFF, DRV_LIGHT_GREEN),
        .phase_state = codes(from, phases, DRV_LIGHT_OFF, DRV_LIGHT_GREEN),
        .start = starts(from, count, lanes), .lane = links_to(from, lanes, roads),
        .phase_start = starts(from, count, phases), .junction = links_to(from, count, count),
        .line_m = places(from, 4 * count), .phase_s = numbers(from, phases, 0.01f, 3600.0f),
        .offset_s = numbers(from, count, 0.0f, 3600.0f)};
    /* the input that refers to them */
    in->control_count = count;
    in->controlled_count = lanes;
    in->phase_count = phases;
    in->control_kind = made.kind;
    in->control_state = made.state;
    in->control_phase_state = made.phase_state;
    in->control_start = made.start;
    in->control_lane = made.lane;
    in->control_phase_start = made.phase_start;
    in->control_junction = made.junction;
    in->control_line_m = made.line_m;
    in->control_phase_s = made.phase_s;
    in->control_offset_s = made.offset_s;
    return made;
}

static void free_controls(controls made) {
    void *const all[] = {made.kind, made.state, made.phase_state, made.start, made.lane, made.phase_start,
                         made.junction, made.line_m, made.phase_s, made.offset_s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Heights of everything on the map, from below one level to above another; read where the scene has them. */
typedef struct heights {
    float *start, *goal, *log, *point, *control;
} heights;

static heights make_heights(recipe *from, drv_scene_input *in, int32_t vehicles, int32_t agents, int32_t log,
                            int32_t points, int32_t controls) {
    const float low_m = -5.0f, high_m = 5.0f;
    const heights made = {numbers(from, vehicles, low_m, high_m), numbers(from, agents, low_m, high_m),
                          numbers(from, log, low_m, high_m), numbers(from, points, low_m, high_m),
                          numbers(from, controls, low_m, high_m)};
    in->start_z_m = made.start;
    in->goal_z_m = made.goal;
    in->log_z_m = made.log;
    in->point_z_m = made.point;
    in->control_z_m = made.control;
    return made;
}

static void free_heights(heights made) {
    float *const all[] = {made.start, made.goal, made.log, made.point, made.control};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Headings of goals, and goals in lists, some of which repeat. */
typedef struct goal_lists {
    uint8_t *has_heading, *repeats, *listed_has_heading;
    int32_t *start;
    float *heading_rad, *x_m, *y_m, *z_m, *listed_heading_rad;
} goal_lists;

static goal_lists make_goal_lists(recipe *from, drv_scene_input *in, int32_t agents) {
    /* the arrays */
    const int32_t listed = next(from) % (LISTED + 1);
    const goal_lists made = {
        .has_heading = codes(from, agents, 0, 1), .repeats = codes(from, agents, 0, 1),
        .listed_has_heading = codes(from, listed, 0, 1), .start = starts(from, agents, listed),
        .heading_rad = numbers(from, agents, -100.0f, 100.0f), .x_m = places(from, listed), .y_m = places(from, listed),
        .z_m = numbers(from, listed, -5.0f, 5.0f), .listed_heading_rad = numbers(from, listed, -100.0f, 100.0f)};
    /* the input that refers to them */
    in->has_goal_headings = next(from) % 2;
    in->listed_count = listed;
    in->goal_has_heading = made.has_heading;
    in->goal_heading_rad = made.heading_rad;
    in->listed_start = made.start;
    in->listed_repeats = made.repeats;
    in->listed_x_m = made.x_m;
    in->listed_y_m = made.y_m;
    in->listed_z_m = made.z_m;
    in->listed_has_heading = made.listed_has_heading;
    in->listed_heading_rad = made.listed_heading_rad;
    return made;
}

static void free_goal_lists(goal_lists made) {
    void *const all[] = {made.has_heading, made.repeats, made.listed_has_heading, made.start, made.heading_rad,
                         made.x_m, made.y_m, made.z_m, made.listed_heading_rad};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* A count that no scene may have, in place of one that it has: it must be refused before an array is read. */
static void spoil_count(recipe *from, drv_scene_input *in) {
    const int32_t odd[] = {-1, INT32_MIN, INT32_MAX, 1 << 25};
    int32_t *const counts[] = {&in->vehicle_count, &in->num_agents, &in->log_replay_count, &in->frame_count,
                               &in->trial_steps, &in->road_count, &in->point_count, &in->link_count,
                               &in->rule_based_count};
    const uint8_t spoil = next(from);
    if (spoil < 240) return;
    *counts[next(from) % (sizeof counts / sizeof *counts)] = odd[spoil % 4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    /* the counts */
    recipe from = {data, data + size};
    const uint32_t draw = (uint32_t)next(&from) | (uint32_t)next(&from) << 8;
    const int32_t vehicles = 1 + next(&from) % VEHICLES, agents = 1 + next(&from) % vehicles;
    const int32_t log_replays = next(&from) % (vehicles - agents + 1), frames = 1 + next(&from) % FRAMES;
    const int32_t rule_based = next(&from) % (vehicles - agents - log_replays + 1);
    const int32_t roads = next(&from) % (ROADS + 1), points = roads ? roads + next(&from) % POINTS : 0;
    const int32_t log = frames * (log_replays + rule_based);
    drv_scene_input in = {.name = "fuzzed", .dt_s = number(&from, 1e-4f, 2.0f), .trial_steps = PLAY_TRIAL_STEPS,
                          .num_agents = agents, .log_replay_count = log_replays, .rule_based_count = rule_based,
                          .vehicle_count = vehicles, .frame_count = frames, .road_count = roads,
                          .point_count = points};
    spoil_count(&from, &in);
    /* the vehicles and roads; each array in the order of its field below */
    uint8_t *const bytes[] = {codes(&from, vehicles, 1, 4), codes(&from, log, 0, 1), codes(&from, roads, 1, 7)};
    int32_t *const start = starts(&from, roads, points);
    float *const floats[] = {numbers(&from, vehicles, 0.01f, 20.0f), numbers(&from, vehicles, 0.01f, 5.0f),
                             places(&from, vehicles), places(&from, vehicles),
                             numbers(&from, vehicles, -100.0f, 100.0f), numbers(&from, vehicles, -200.0f, 200.0f),
                             numbers(&from, vehicles, -200.0f, 200.0f),
                             places(&from, agents), places(&from, agents), places(&from, log), places(&from, log),
                             numbers(&from, log, -100.0f, 100.0f), numbers(&from, log, -200.0f, 200.0f),
                             numbers(&from, log, -200.0f, 200.0f), numbers(&from, roads, 0.0f, 100.0f),
                             numbers(&from, roads, 0.0f, 200.0f), places(&from, points), places(&from, points)};
    in.kind = bytes[0];
    in.log_valid = bytes[1];
    in.road_kind = bytes[2];
    in.road_start = start;
    const float **const fields[] = {&in.length_m, &in.width_m, &in.start_x_m, &in.start_y_m, &in.start_heading_rad,
                                    &in.start_vx_mps, &in.start_vy_mps, &in.goal_x_m, &in.goal_y_m, &in.log_x_m,
                                    &in.log_y_m, &in.log_heading_rad, &in.log_vx_mps, &in.log_vy_mps,
                                    &in.road_width_m, &in.road_speed_limit_mps, &in.point_x_m, &in.point_y_m};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) *fields[i] = floats[i];
    /* a lane graph in three scenes of four, controls, and heights in every second one */
    const int32_t links = roads ? next(&from) % LINKS : 0;
    int32_t *const lane_start = starts(&from, roads, links), *const successor = links_to(&from, links, roads);
    if (next(&from) % 4 < 3) {
        in.lane_start = lane_start;
        in.lane_successor = successor;
        in.link_count = in.link_count == 0 ? links : in.link_count;
        in.has_lane_changes = next(&from) % 2;
    }
    const controls lights_and_signs = make_controls(&from, &in, frames, roads);
    in.has_height = next(&from) % 2;
    const heights levels = make_heights(&from, &in, vehicles, agents, log, points, in.control_count);
    const goal_lists lists = make_goal_lists(&from, &in, agents);
    /* One map in 512 may be large, since it takes milliseconds; its extent is that of the points that exist. */
    drv_scene_input true_counts = in;
    true_counts.point_count = points;
    char message[DRV_MESSAGE_BYTES];
    if (play_extent_m(&true_counts) <= play_extent_limit_m || draw % 512 == 511) play_scene(&in, draw, message);
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) free(bytes[i]);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) free(floats[i]);
    free_controls(lights_and_signs);
    free_heights(levels);
    free_goal_lists(lists);
    free(start);
    free(lane_start);
    free(successor);
    return 0;
}
