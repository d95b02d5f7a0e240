/* Which paths do the rule-based vehicles of a scene follow? Logged positions, then lanes, resampled to one pitch. */
#include "scene/paths.h"

#include <math.h>
#include <stdlib.h>

#include "math/random.h"
#include "math/simd_pad.h"
#include "scene/scene_input.h"

enum {
    /* Points of a path, which ends there even if a trial takes longer. */
    PATH_POINT_LIMIT = DRV_PATH_LIMIT_M / DRV_PATH_PITCH_M
};

/* Desired speed on lanes without a speed limit, and along a log that is nowhere faster (nuPlan). */
static const float cruise_mps = 10.0f;
/* How fast a vehicle drives through bends. */
typedef struct bend_limits {
    float lateral_mps2; /* acceleration to the side there */
    float braking_mps2; /* deceleration before them */
} bend_limits;

/* Of rule-based vehicles: 4.9 m/s at the radius of 8 m of a right turn, and the deceleration of the intelligent driver
 * model. Agents are quicker, since they have to reach their goals within the trial. */
static const bend_limits rule_based_bends = {3.0f, 2.0f}, agent_bends = {3.5f, 3.0f};
/* A vehicle farther than this from the middle of every lane is on none of them: half a wide lane. */
static const float lane_reach_m = 2.5f;
/* A vehicle beside the middle of its lane joins it over a length of join_ratio times its offset, at least join_m. */
static const float join_m = 4.0f, join_ratio = 4.0f;
/* A vehicle whose log ends slower than this stops there. */
static const float resting_mps = 0.5f;
/* Time for which a path goes on past the end of the trial, since vehicles look ahead. */
static const float look_ahead_s = 4.0f;

/* ---- points ---- */

typedef struct path_point {
    float x_m, y_m, speed_mps;
} path_point;

/* Writes the paths one after another. */
typedef struct writer {
    path_point *point;
    int64_t count, capacity;
    bool failed;           /* out of memory */
    int64_t first;         /* point of the present path */
    drv_point last, vertex; /* the last point, and the last vertex of the polyline, less than a pitch from it */
    float time_s;          /* to the last point at the desired speeds */
} writer;

static void write_point(writer *to, drv_point at, float speed_mps) {
    if (to->count == to->capacity) {
        const int64_t capacity = to->capacity > 0 ? 2 * to->capacity : 1024;
        path_point *grown = realloc(to->point, (size_t)capacity * sizeof *grown);
        if (!grown) {
            to->failed = true;
            return;
        }
        to->point = grown;
        to->capacity = capacity;
    }
    if (to->count > to->first) to->time_s += drv_path_pitch_m / speed_mps;
    to->point[to->count++] = (path_point){at.x, at.y, speed_mps};
    to->last = at;
}

static void begin_path(writer *to, drv_point at, float speed_mps) {
    to->first = to->count;
    to->time_s = 0.0f;
    to->vertex = at;
    write_point(to, at, speed_mps);
}

/* Appends a vertex of the polyline, and the points up to it: each is where the polyline leaves the circle of one pitch
 * about the point before. So the noise of positions at rest adds no point. */
static void add_vertex(writer *to, drv_point vertex, float speed_mps) {
    while (!to->failed && to->count - to->first < PATH_POINT_LIMIT) {
        const float away_x = vertex.x - to->last.x, away_y = vertex.y - to->last.y;
        if (!(away_x * away_x + away_y * away_y >= drv_path_pitch_m * drv_path_pitch_m)) break;
        const float side_x = vertex.x - to->vertex.x, side_y = vertex.y - to->vertex.y;
        const float length_m = sqrtf(side_x * side_x + side_y * side_y);
        const float along_x = side_x / length_m, along_y = side_y / length_m;
        const float from_x = to->vertex.x - to->last.x, from_y = to->vertex.y - to->last.y;
        const float ahead_m = from_x * along_x + from_y * along_y;
        const float inside_m2 = drv_path_pitch_m * drv_path_pitch_m - from_x * from_x - from_y * from_y;
        const float driven_m = sqrtf(drv_larger(ahead_m * ahead_m + inside_m2, 0.0f)) - ahead_m;
        to->vertex = (drv_point){to->vertex.x + driven_m * along_x, to->vertex.y + driven_m * along_y};
        write_point(to, to->vertex, speed_mps);
    }
    to->vertex = vertex;
}

/* ---- along the log ---- */

static float logged_speed(const drv_scene_input *in, int64_t at) {
    const drv_point ahead = drv_direction(drv_wrap_angle(in->log_heading_rad[at]));
    return in->log_vx_mps[at] * ahead.x + in->log_vy_mps[at] * ahead.y;
}

/* The first frame in which a vehicle is on the map; -1 if there is none. */
static int32_t first_frame_of(const drv_scene_input *in, int32_t column) {
    for (int32_t frame = 0; frame < in->frame_count; frame++)
        if (in->log_valid[(int64_t)frame * DRV_LOG_COLUMNS(in) + column]) return frame;
    return -1;
}

/* Where a log ends. */
typedef struct log_end {
    drv_point at, ahead;
    float z_m; /* 0 without heights */
    float speed_mps, fastest_mps;
} log_end;

/* Writes the points of a log from its first frame on; returns where it ends. */
static log_end follow_log(writer *to, const drv_scene_input *in, int32_t column, int32_t first_frame) {
    log_end end = {.fastest_mps = cruise_mps};
    const int64_t columns = DRV_LOG_COLUMNS(in);
    for (int32_t frame = first_frame; frame < in->frame_count; frame++) {
        const int64_t at = frame * columns + column;
        if (!in->log_valid[at]) continue;
        end.at = (drv_point){in->log_x_m[at], in->log_y_m[at]};
        if (in->has_height) end.z_m = in->log_z_m[at];
        end.ahead = drv_direction(drv_wrap_angle(in->log_heading_rad[at]));
        end.speed_mps = logged_speed(in, at);
        end.fastest_mps = drv_larger(end.fastest_mps, end.speed_mps);
    }
    for (int32_t frame = first_frame; frame < in->frame_count; frame++) {
        const int64_t at = frame * columns + column;
        if (!in->log_valid[at]) continue;
        const drv_point position = {in->log_x_m[at], in->log_y_m[at]};
        if (frame == first_frame) begin_path(to, position, end.fastest_mps);
        else add_vertex(to, position, end.fastest_mps);
    }
    return end;
}

/* ---- along lanes ---- */

/* Writes the points of lanes, from the one nearest to the end of the log on, until the path is long enough for the
 * trial or no lane succeeds. At a fork each successor is as likely as the others; the draw is the same in every
 * episode. */
static void follow_lanes(writer *to, const drv_scene_input *in, const drv_lanes *lanes, int32_t column, log_end from) {
    if (!lanes->point_start) return;
    drv_lane_place place = {-1, 0.0, INFINITY, 0.0f};
    for (int32_t lane = 0; lane < lanes->road_count; lane++) {
        const drv_lane_place found = drv_lane_nearest(lanes, lane, from.at, &from.ahead);
        if (found.distance_m < place.distance_m && !drv_lane_is_apart(lanes, found, from.z_m)) place = found;
    }
    if (!(place.distance_m <= (double)lane_reach_m)) return;
    const float trial_s = (float)in->trial_steps * in->dt_s + look_ahead_s;
    float from_m = (float)place.along_m + drv_larger(join_m, join_ratio * (float)place.distance_m);
    int32_t lane = place.lane;
    for (int64_t turn = 0; !to->failed && turn < PATH_POINT_LIMIT; turn++) {
        const float limit_mps = in->road_speed_limit_mps[lane] > 0.0f ? in->road_speed_limit_mps[lane] : cruise_mps;
        if (from_m > 0.0f && from_m <= drv_lane_length_m(lanes, lane))
            add_vertex(to, drv_lane_point(lanes, lane, from_m), limit_mps);
        for (int32_t i = lanes->point_start[lane]; i < lanes->point_start[lane + 1]; i++)
            if (lanes->arc_m[i] > from_m)
                add_vertex(to, (drv_point){lanes->x_m[i], lanes->y_m[i]}, limit_mps);
        const int32_t first = lanes->successor_start[lane], count = lanes->successor_start[lane + 1] - first;
        if (count == 0 || to->time_s >= trial_s || to->count - to->first >= PATH_POINT_LIMIT) break;
        from_m -= drv_lane_length_m(lanes, lane); /* a vehicle at the end of a lane joins the next one */
        const uint64_t bits = drv_random_bits(0, column, turn, DRV_PURPOSE_PATH, 0);
        lane = lanes->successor[first + (int32_t)drv_random_below(bits, (uint32_t)count)];
    }
}

/* ---- headings and speeds ---- */

/* Writes the headings of a path: at the start that of the vehicle, then the directions between the neighbours of each
 * point. */
static void fill_headings(drv_paths *paths, int32_t path, float start_heading_rad) {
    const int32_t first = paths->point_start[path], last = paths->point_start[path + 1] - 1;
    for (int32_t i = first; i <= last; i++) {
        const int32_t before = i > first ? i - 1 : i, after = i < last ? i + 1 : i;
        const float dx = paths->x_m[after] - paths->x_m[before], dy = paths->y_m[after] - paths->y_m[before];
        const float length_m = sqrtf(dx * dx + dy * dy);
        /* A path that turns back on itself has two neighbours at one place. */
        const drv_point ahead = length_m > 0.1f ? (drv_point){dx / length_m, dy / length_m}
                                                : (drv_point){paths->cos_heading[before], paths->sin_heading[before]};
        paths->heading_rad[i] = i == first ? start_heading_rad : drv_angle_of(ahead);
        const drv_point unit = drv_direction(paths->heading_rad[i]);
        paths->cos_heading[i] = unit.x;
        paths->sin_heading[i] = unit.y;
    }
}

/* Lowers the speeds of a path to what its bends allow, and so that braking for them is comfortable. */
static void limit_speeds(drv_paths *paths, int32_t path, bend_limits limits) {
    const int32_t first = paths->point_start[path], last = paths->point_start[path + 1] - 1;
    for (int32_t i = first + 1; i < last; i++) { /* the heading of the first point is that of the vehicle */
        const float turn_rad = drv_wrap_angle(paths->heading_rad[i + 1] - paths->heading_rad[i]);
        const float curvature_per_m = fabsf(turn_rad) / drv_path_pitch_m;
        if (!(curvature_per_m > 0.0f)) continue;
        const float bend_mps = sqrtf(limits.lateral_mps2 / curvature_per_m);
        paths->speed_mps[i] = drv_smaller(paths->speed_mps[i], bend_mps);
        paths->speed_mps[i + 1] = drv_smaller(paths->speed_mps[i + 1], bend_mps);
    }
    for (int32_t i = last; i > first; i--) {
        const float next_mps = paths->speed_mps[i];
        const float reachable_mps = sqrtf(next_mps * next_mps + 2.0f * limits.braking_mps2 * drv_path_pitch_m);
        paths->speed_mps[i - 1] = drv_smaller(paths->speed_mps[i - 1], reachable_mps);
    }
}

/* ---- memory ---- */

/* Lays the arrays out in a block, or measures it where `base` is NULL; returns its bytes. */
static uint64_t lay_out(drv_paths *paths, bool has_height, uint8_t *base) {
    drv_block block = {base, 0};
    DRV_CARVE(&block, paths->point_start, paths->count + 1);
    DRV_CARVE(&block, paths->entry_step, paths->count);
    DRV_CARVE(&block, paths->start_speed_mps, paths->count);
    const int32_t points = paths->point_count + DRV_SIMD_PAD;
    DRV_CARVE(&block, paths->x_m, points);
    DRV_CARVE(&block, paths->y_m, points);
    if (has_height) DRV_CARVE(&block, paths->z_m, points);
    DRV_CARVE(&block, paths->heading_rad, points);
    DRV_CARVE(&block, paths->cos_heading, points);
    DRV_CARVE(&block, paths->sin_heading, points);
    DRV_CARVE(&block, paths->speed_mps, points);
    return block.used;
}

/* Writes the points of all paths and where each starts. */
static void write_points(writer *to, const drv_scene_input *in, const drv_lanes *lanes, int32_t *point_start) {
    for (int32_t i = 0; i < in->rule_based_count; i++) {
        const int32_t column = in->log_replay_count + i, frame = first_frame_of(in, column);
        point_start[i] = (int32_t)to->count;
        to->first = to->count;
        if (frame < 0) continue;
        const log_end end = follow_log(to, in, column, frame);
        const bool goes_on = in->frame_count == 1 || end.speed_mps > resting_mps;
        if (goes_on) follow_lanes(to, in, lanes, column, end);
        if (to->failed) return;
        if (to->count - to->first < 2) to->count = to->first;
        else if (!goes_on) to->point[to->count - 1].speed_mps = 0.0f;
    }
    point_start[in->rule_based_count] = (int32_t)to->count;
}

/* Acquires the arrays of paths and fills in their points; false if out of memory. */
static bool store_points(const writer *from, const int32_t *point_start, bool has_height, drv_arena *arena,
                         drv_paths *out, uint64_t *bytes) {
    if (from->failed) return false;
    out->point_count = (int32_t)from->count;
    *bytes = lay_out(out, has_height, NULL);
    uint8_t *block = drv_memory_acquire(arena, *bytes);
    if (!block) return false;
    lay_out(out, has_height, block);
    for (int32_t i = 0; i <= out->count; i++) out->point_start[i] = point_start[i];
    for (int64_t i = 0; i < from->count; i++) {
        out->x_m[i] = from->point[i].x_m;
        out->y_m[i] = from->point[i].y_m;
        out->speed_mps[i] = from->point[i].speed_mps;
    }
    return true;
}

/* ---- all ---- */

bool drv_paths_create(const drv_scene_input *in, const drv_lanes *lanes, drv_arena *arena, drv_paths *out,
                      uint64_t *bytes) {
    *out = (drv_paths){.count = in->rule_based_count};
    *bytes = 0;
    if (in->rule_based_count == 0) return true;

    /* write the points to memory that grows, then store them */
    writer points = {.point = NULL};
    int32_t *point_start = malloc(((size_t)in->rule_based_count + 1) * sizeof *point_start);
    bool is_stored = false;
    if (point_start) {
        write_points(&points, in, lanes, point_start);
        is_stored = store_points(&points, point_start, in->has_height, arena, out, bytes);
    }

    /* fill the other arrays */
    for (int32_t i = 0; is_stored && i < out->count; i++) {
        const int32_t column = in->log_replay_count + i, frame = first_frame_of(in, column);
        out->entry_step[i] = frame;
        if (frame < 0) continue;
        const int64_t at = (int64_t)frame * DRV_LOG_COLUMNS(in) + column;
        out->start_speed_mps[i] = drv_larger(0.0f, logged_speed(in, at));
        if (drv_path_points(out, i) == 0) continue;
        fill_headings(out, i, drv_wrap_angle(in->log_heading_rad[at]));
        limit_speeds(out, i, rule_based_bends);
    }
    free(points.point);
    free(point_start);
    return is_stored;
}

/* Writes the points along a polyline and, if the path runs out, straight on past its end; slower where the goal is, if
 * it is the last path of its agent. */
static void follow_line(writer *to, const drv_lane_driver_setup *setup, int32_t path, bool is_last, bool runs_out) {
    const int32_t first = setup->point_start[path], last = setup->point_start[path + 1] - 1;
    begin_path(to, (drv_point){setup->x_m[first], setup->y_m[first]}, setup->speed_mps[first]);
    for (int32_t i = first + 1; i <= last; i++)
        add_vertex(to, (drv_point){setup->x_m[i], setup->y_m[i]}, setup->speed_mps[i]);
    const float goal_m = (float)(to->count - to->first - 1) * drv_path_pitch_m;

    /* past its end */
    if (!runs_out) return;
    const float dx = setup->x_m[last] - setup->x_m[last - 1], dy = setup->y_m[last] - setup->y_m[last - 1];
    const float run_out = (float)DRV_PATH_RUN_OUT_M / sqrtf(dx * dx + dy * dy);
    add_vertex(to, (drv_point){setup->x_m[last] + run_out * dx, setup->y_m[last] + run_out * dy},
               setup->speed_mps[last]);

    /* at the goal */
    for (int64_t i = to->first; is_last && i < to->count; i++)
        if ((float)(i - to->first) * drv_path_pitch_m >= goal_m - setup->goal_reach_m)
            to->point[i].speed_mps = drv_smaller(to->point[i].speed_mps, setup->goal_mps);
}

/* Whether a path is the last one of its agent. */
static bool is_last_path(const drv_lane_driver_setup *setup, int32_t agents, int32_t path) {
    if (!setup->path_start) return true;
    for (int32_t agent = 0; agent < agents; agent++)
        if (setup->path_start[agent + 1] - 1 == path) return true;
    return false;
}

bool drv_paths_along(const drv_lane_driver_setup *setup, int32_t agents, bool runs_out, drv_paths *out) {
    *out = (drv_paths){.count = setup->path_start ? setup->path_start[agents] : agents};
    uint64_t bytes;
    writer points = {.point = NULL};
    int32_t *point_start = malloc(((size_t)out->count + 1) * sizeof *point_start);
    bool is_stored = false;
    if (point_start) {
        for (int32_t i = 0; i < out->count && !points.failed; i++) {
            point_start[i] = (int32_t)points.count;
            follow_line(&points, setup, i, is_last_path(setup, agents, i), runs_out);
        }
        point_start[out->count] = (int32_t)points.count;
        is_stored = store_points(&points, point_start, false, NULL, out, &bytes);
    }
    for (int32_t i = 0; is_stored && i < out->count; i++) {
        const int32_t first = setup->point_start[i];
        const drv_point ahead = {setup->x_m[first + 1] - setup->x_m[first], setup->y_m[first + 1] - setup->y_m[first]};
        fill_headings(out, i, drv_angle_of(ahead));
        limit_speeds(out, i, agent_bends);
    }
    free(points.point);
    free(point_start);
    return is_stored;
}
