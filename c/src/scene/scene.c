/* How is a scene created? Validates its input, splits the roads into segments and sorts them into the grid. */
#include "scene/scene.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "math/geometry.h"
#include "math/vector.h"
#include "platform/error.h"
#include "platform/fp_env.h"
#include "platform/memory.h"

/* Block of all arrays of a scene. The same code first measures it, then lays it out. */
typedef struct arena {
    uint8_t *base; /* NULL while measuring */
    uint64_t used;
} arena;

static void *carve(arena *block, int64_t count, size_t item_bytes) {
    void *memory = block->base ? block->base + block->used : NULL;
    uint64_t bytes = (uint64_t)(count > 0 ? count : 0) * item_bytes;
    block->used += drv_round_up_to_line(bytes);
    return memory;
}

#define CARVE(block, field, count) ((field) = carve((block), (int64_t)(count), sizeof *(field)))

static void lay_out_segments(drv_segments *segments, arena *block, int32_t count, int32_t cell_count) {
    segments->count = count;
    CARVE(block, segments->middle_x_m, count + DRV_SIMD_PAD);
    CARVE(block, segments->middle_y_m, count + DRV_SIMD_PAD);
    CARVE(block, segments->along_x, count + DRV_SIMD_PAD);
    CARVE(block, segments->along_y, count + DRV_SIMD_PAD);
    CARVE(block, segments->half_length_m, count + DRV_SIMD_PAD);
    CARVE(block, segments->cell_start, (int64_t)cell_count + 1);
}

static void lay_out(drv_scene *scene, arena *block, int32_t segment_count, int32_t edge_count) {
    const int64_t log = (int64_t)scene->frame_count * scene->log_replay_count;
    const int32_t cells = scene->grid.columns * scene->grid.rows;
    CARVE(block, scene->kind, scene->vehicle_count);
    CARVE(block, scene->controller, scene->vehicle_count);
    CARVE(block, scene->length_m, scene->vehicle_count);
    CARVE(block, scene->width_m, scene->vehicle_count);
    CARVE(block, scene->radius_m, scene->vehicle_count);
    CARVE(block, scene->start_x_m, scene->vehicle_count);
    CARVE(block, scene->start_y_m, scene->vehicle_count);
    CARVE(block, scene->start_heading_rad, scene->vehicle_count);
    CARVE(block, scene->start_speed_mps, scene->vehicle_count);
    CARVE(block, scene->goal_x_m, scene->num_agents);
    CARVE(block, scene->goal_y_m, scene->num_agents);
    CARVE(block, scene->log_x_m, log);
    CARVE(block, scene->log_y_m, log);
    CARVE(block, scene->log_heading_rad, log);
    CARVE(block, scene->log_cos_heading, log);
    CARVE(block, scene->log_sin_heading, log);
    CARVE(block, scene->log_speed_mps, log);
    CARVE(block, scene->log_valid, log);
    CARVE(block, scene->road_kind, scene->road_count);
    CARVE(block, scene->road_width_m, scene->road_count);
    CARVE(block, scene->road_speed_limit_mps, scene->road_count);
    lay_out_segments(&scene->segments, block, segment_count, cells);
    CARVE(block, scene->segment_road, segment_count);
    lay_out_segments(&scene->edges, block, edge_count, cells);
}

/* ---- checks ---- */

typedef struct checker {
    const char *name;
    char *message;
    drv_status status;
} checker;

static void check_count(checker *check, const char *what, int64_t found, int64_t low, int64_t high) {
    if (check->status == DRV_OK && (found < low || found > high))
        check->status = drv_fail(check->message, DRV_ERROR_SCENE, "scene %.80s: %s is %lld; it must be %lld to %lld",
                                 check->name, what, (long long)found, (long long)low, (long long)high);
}

static void check_values(checker *check, const char *what, const float *values, int64_t count, float low, float high,
                         const uint8_t *only_where) {
    for (int64_t i = 0; check->status == DRV_OK && i < count; i++) {
        if (only_where && !only_where[i]) continue;
        if (!(values[i] >= low && values[i] <= high))
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: %s %lld is %.9g; it must be %g to %g", check->name, what,
                                     (long long)i, (double)values[i], (double)low, (double)high);
    }
}

static void check_codes(checker *check, const char *what, const uint8_t *codes, int64_t count, int low, int high) {
    for (int64_t i = 0; check->status == DRV_OK && i < count; i++)
        if (codes[i] < low || codes[i] > high)
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: %s %lld is %d; it must be %d to %d", check->name, what,
                                     (long long)i, codes[i], low, high);
}

static void check_roads(checker *check, const drv_scene_input *in) {
    if (check->status != DRV_OK) return;
    if (in->road_start[0] != 0 || in->road_start[in->road_count] != in->point_count)
        check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                 "scene %.80s: road_start runs from %d to %d; it must run from 0 to %d", check->name,
                                 in->road_start[0], in->road_start[in->road_count], in->point_count);
    for (int32_t i = 0; check->status == DRV_OK && i < in->road_count; i++)
        if (in->road_start[i + 1] <= in->road_start[i])
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: road %d has %lld points; it must have at least 1", check->name, i,
                                     (long long)in->road_start[i + 1] - in->road_start[i]);
}

static drv_status check_input(const drv_scene_input *in, char *message) {
    const float far = DRV_COORDINATE_LIMIT_M, speed_limit_mps = DRV_SPEED_LIMIT_MPS, size_limit_m = DRV_SIZE_LIMIT_M;
    checker check = {in->name, message, DRV_OK};
    check_count(&check, "vehicle_count", in->vehicle_count, 1, DRV_VEHICLE_LIMIT);
    check_count(&check, "num_agents", in->num_agents, 1, in->vehicle_count);
    check_count(&check, "log_replay_count", in->log_replay_count, 0, (int64_t)in->vehicle_count - in->num_agents);
    check_count(&check, "frame_count", in->frame_count, 1, 1000000);
    check_count(&check, "trial_steps", in->trial_steps, 1, 1000000);
    check_count(&check, "road_count", in->road_count, 0, DRV_SEGMENT_LIMIT);
    check_count(&check, "point_count", in->point_count, 0, DRV_SEGMENT_LIMIT);
    if (check.status != DRV_OK) return check.status;

    const int64_t vehicles = in->vehicle_count, agents = in->num_agents;
    const int64_t log = (int64_t)in->frame_count * in->log_replay_count;
    check_values(&check, "dt_s", &in->dt_s, 1, 1e-4f, 2.0f, NULL);
    check_codes(&check, "kind of vehicle", in->kind, vehicles, DRV_OBJECT_VEHICLE, DRV_OBJECT_OTHER);
    check_values(&check, "length_m of vehicle", in->length_m, vehicles, 0.01f, size_limit_m, NULL);
    check_values(&check, "width_m of vehicle", in->width_m, vehicles, 0.01f, size_limit_m, NULL);
    /* Log-replay vehicles, in between, have no start: they begin at frame 0 of their log. */
    const int64_t statics_first = agents + in->log_replay_count, static_vehicles = vehicles - statics_first;
    const struct {
        const char *what;
        const float *values;
        float limit;
    } starts[] = {{"start_x_m of vehicle", in->start_x_m, far},
                  {"start_y_m of vehicle", in->start_y_m, far},
                  {"start_heading_rad of vehicle", in->start_heading_rad, 100.0f},
                  {"start_vx_mps of vehicle", in->start_vx_mps, speed_limit_mps},
                  {"start_vy_mps of vehicle", in->start_vy_mps, speed_limit_mps}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        check_values(&check, starts[i].what, starts[i].values, agents, -starts[i].limit, starts[i].limit, NULL);
        check_values(&check, starts[i].what, starts[i].values + statics_first, static_vehicles, -starts[i].limit,
                     starts[i].limit, NULL);
    }
    check_values(&check, "goal_x_m of agent", in->goal_x_m, agents, -far, far, NULL);
    check_values(&check, "goal_y_m of agent", in->goal_y_m, agents, -far, far, NULL);
    check_codes(&check, "log_valid", in->log_valid, log, 0, 1);
    check_values(&check, "log_x_m", in->log_x_m, log, -far, far, in->log_valid);
    check_values(&check, "log_y_m", in->log_y_m, log, -far, far, in->log_valid);
    check_values(&check, "log_heading_rad", in->log_heading_rad, log, -100.0f, 100.0f, in->log_valid);
    check_values(&check, "log_vx_mps", in->log_vx_mps, log, -speed_limit_mps, speed_limit_mps, in->log_valid);
    check_values(&check, "log_vy_mps", in->log_vy_mps, log, -speed_limit_mps, speed_limit_mps, in->log_valid);
    check_roads(&check, in);
    check_codes(&check, "kind of road", in->road_kind, in->road_count, DRV_ROAD_LANE, DRV_ROAD_DRIVEWAY);
    check_values(&check, "width_m of road", in->road_width_m, in->road_count, 0.0f, 100.0f, NULL);
    check_values(&check, "speed_limit_mps of road", in->road_speed_limit_mps, in->road_count, 0.0f, speed_limit_mps,
                 NULL);
    check_values(&check, "point_x_m", in->point_x_m, in->point_count, -far, far, NULL);
    check_values(&check, "point_y_m", in->point_y_m, in->point_count, -far, far, NULL);
    return check.status;
}

/* ---- roads to segments ---- */

typedef struct segment {
    drv_point middle, along;
    float half_length_m;
    int32_t road, cell, order;
} segment;

/* Writes the segments of all roads to `out`, in file order, unless it is NULL; returns their number. */
static int64_t split_roads(const drv_scene_input *in, segment *out) {
    int64_t count = 0;
    for (int32_t road = 0; road < in->road_count; road++) {
        const int32_t first = in->road_start[road], end = in->road_start[road + 1];
        int64_t before = count;
        for (int32_t i = first; i + 1 < end; i++) {
            float dx = in->point_x_m[i + 1] - in->point_x_m[i], dy = in->point_y_m[i + 1] - in->point_y_m[i];
            float length_m = sqrtf(dx * dx + dy * dy);
            if (length_m < 1e-4f) continue; /* a repeated point */
            int32_t pieces = (int32_t)ceilf(length_m / drv_segment_limit_m);
            if (!out) {
                count += pieces;
                continue;
            }
            for (int32_t piece = 0; piece < pieces; piece++, count++) {
                float share = ((float)piece + 0.5f) / (float)pieces;
                out[count] = (segment){{in->point_x_m[i] + share * dx, in->point_y_m[i] + share * dy},
                                       {dx / length_m, dy / length_m},
                                       0.5f * length_m / (float)pieces,
                                       road, 0, (int32_t)count};
            }
        }
        if (count == before) { /* a single point, such as a stop sign */
            if (out)
                out[count] = (segment){{in->point_x_m[first], in->point_y_m[first]}, {0.0f, 0.0f}, 0.0f, road, 0,
                                       (int32_t)count};
            count++;
        }
    }
    return count;
}

static int by_cell_then_file_order(const void *left, const void *right) {
    const segment *a = left, *b = right;
    return a->cell != b->cell ? (a->cell > b->cell) - (a->cell < b->cell)
                              : (a->order > b->order) - (a->order < b->order);
}

static drv_grid cover(const segment *pieces, int64_t count) {
    float left = INFINITY, bottom = INFINITY, right = -INFINITY, top = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        left = drv_smaller(left, pieces[i].middle.x);
        right = drv_larger(right, pieces[i].middle.x);
        bottom = drv_smaller(bottom, pieces[i].middle.y);
        top = drv_larger(top, pieces[i].middle.y);
    }
    if (count == 0) left = bottom = right = top = 0.0f;
    return drv_grid_cover(left, bottom, right, top, drv_cell_m, DRV_CELL_LIMIT);
}

/* Copies the sorted segments (all, or edges only) to their arrays. */
static void fill_segments(drv_segments *segments, const segment *pieces, int64_t count, const uint8_t *road_kind,
                          bool edges_only, int32_t cell_count) {
    int32_t filled = 0, cell = 0;
    segments->cell_start[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        if (edges_only && road_kind[pieces[i].road] != DRV_ROAD_EDGE) continue;
        while (cell < pieces[i].cell) segments->cell_start[++cell] = filled;
        segments->middle_x_m[filled] = pieces[i].middle.x;
        segments->middle_y_m[filled] = pieces[i].middle.y;
        segments->along_x[filled] = pieces[i].along.x;
        segments->along_y[filled] = pieces[i].along.y;
        segments->half_length_m[filled] = pieces[i].half_length_m;
        filled++;
    }
    while (cell < cell_count) segments->cell_start[++cell] = filled;
    for (int32_t i = 0; i < DRV_SIMD_PAD; i++) segments->middle_x_m[filled + i] = INFINITY; /* padding */
}

static void copy(void *to, const void *from, int64_t count, size_t item_bytes) {
    if (count > 0) memcpy(to, from, (size_t)count * item_bytes);
}

/* Speed along the heading; negative for a vehicle that rolls backwards. */
static float forward_speed(float vx_mps, float vy_mps, float heading_rad) {
    drv_point ahead = drv_direction(heading_rad);
    return vx_mps * ahead.x + vy_mps * ahead.y;
}

static void fill_vehicles(drv_scene *scene, const drv_scene_input *in) {
    const int64_t vehicles = scene->vehicle_count, log = (int64_t)scene->frame_count * scene->log_replay_count;
    copy(scene->kind, in->kind, vehicles, sizeof *in->kind);
    copy(scene->length_m, in->length_m, vehicles, sizeof(float));
    copy(scene->width_m, in->width_m, vehicles, sizeof(float));
    copy(scene->goal_x_m, in->goal_x_m, scene->num_agents, sizeof(float));
    copy(scene->goal_y_m, in->goal_y_m, scene->num_agents, sizeof(float));
    for (int64_t i = 0; i < vehicles; i++) {
        float length = in->length_m[i], width = in->width_m[i];
        const drv_controller controller = i < scene->num_agents                             ? DRV_CONTROLLER_AGENT
                                          : i < scene->num_agents + scene->log_replay_count ? DRV_CONTROLLER_LOG
                                                                                            : DRV_CONTROLLER_STATIC;
        const bool replays = controller == DRV_CONTROLLER_LOG;
        scene->controller[i] = (uint8_t)controller;
        scene->radius_m[i] = 0.5f * sqrtf(length * length + width * width);
        scene->start_x_m[i] = replays ? 0.0f : in->start_x_m[i];
        scene->start_y_m[i] = replays ? 0.0f : in->start_y_m[i];
        scene->start_heading_rad[i] = replays ? 0.0f : drv_wrap_angle(in->start_heading_rad[i]);
        if (controller != DRV_CONTROLLER_AGENT) continue; /* static vehicles have no speed, others follow their log */
        scene->start_speed_mps[i] =
            forward_speed(in->start_vx_mps[i], in->start_vy_mps[i], scene->start_heading_rad[i]);
    }
    for (int64_t i = 0; i < log; i++) {
        bool valid = in->log_valid[i] != 0;
        scene->log_valid[i] = valid;
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

static void fill_roads(drv_scene *scene, const drv_scene_input *in, const segment *pieces, int64_t count) {
    const int32_t cells = scene->grid.columns * scene->grid.rows;
    copy(scene->road_kind, in->road_kind, in->road_count, sizeof *in->road_kind);
    copy(scene->road_width_m, in->road_width_m, in->road_count, sizeof(float));
    copy(scene->road_speed_limit_mps, in->road_speed_limit_mps, in->road_count, sizeof(float));
    fill_segments(&scene->segments, pieces, count, in->road_kind, false, cells);
    for (int64_t i = 0; i < count; i++) scene->segment_road[i] = pieces[i].road;
    fill_segments(&scene->edges, pieces, count, in->road_kind, true, cells);
}

/* ---- calls ---- */

static drv_scene *allocate(const drv_scene *plan, int32_t segment_count, int32_t edge_count) {
    drv_scene sized = *plan;
    arena block = {NULL, drv_round_up_to_line(sizeof *plan)};
    lay_out(&sized, &block, segment_count, edge_count);
    drv_scene *scene = drv_memory_acquire_shared(block.used);
    if (!scene) return NULL;
    memcpy(scene, plan, sizeof *plan);
    scene->bytes = block.used;
    block = (arena){(uint8_t *)scene, drv_round_up_to_line(sizeof *plan)};
    lay_out(scene, &block, segment_count, edge_count);
    atomic_init(&scene->references, 1);
    return scene;
}

/* Not inlined, so that the compiler moves no computation out of the core's floating-point environment. */
__attribute__((noinline)) static drv_status create(const drv_scene_input *in, drv_scene **out, char *message) {
    *out = NULL;
    drv_status status = check_input(in, message);
    if (status != DRV_OK) return status;
    const int64_t count = split_roads(in, NULL);
    if (count > DRV_SEGMENT_LIMIT)
        return drv_fail(message, DRV_ERROR_SCENE, "scene %.80s: its roads make %lld segments; at most %d are allowed",
                        in->name, (long long)count, DRV_SEGMENT_LIMIT);

    segment *pieces = malloc((size_t)(count > 0 ? count : 1) * sizeof *pieces);
    drv_scene plan = {.dt_s = in->dt_s,
                      .trial_steps = in->trial_steps,
                      .num_agents = in->num_agents,
                      .log_replay_count = in->log_replay_count,
                      .vehicle_count = in->vehicle_count,
                      .frame_count = in->frame_count,
                      .road_count = in->road_count};
    drv_scene *scene = NULL;
    if (pieces) {
        int32_t edge_count = 0;
        split_roads(in, pieces);
        plan.grid = cover(pieces, count);
        for (int64_t i = 0; i < count; i++) {
            pieces[i].cell = drv_grid_cell(&plan.grid, pieces[i].middle.x, pieces[i].middle.y);
            edge_count += in->road_kind[pieces[i].road] == DRV_ROAD_EDGE;
        }
        qsort(pieces, (size_t)count, sizeof *pieces, by_cell_then_file_order);
        scene = allocate(&plan, (int32_t)count, edge_count);
    }
    if (scene) {
        strncpy(scene->name, in->name, DRV_SCENE_NAME_BYTES - 1);
        fill_vehicles(scene, in);
        fill_roads(scene, in, pieces, count);
    } else {
        status = drv_fail(message, DRV_ERROR_MEMORY, "scene %.80s: no memory for its %lld road segments", in->name,
                          (long long)count);
    }
    free(pieces);
    *out = scene;
    return status;
}

drv_status drv_scene_create(const drv_scene_input *in, drv_scene **out, char *message) {
    const drv_fp_env callers = drv_fp_env_begin();
    const drv_status status = create(in, out, message);
    drv_fp_env_end(callers);
    return status;
}

void drv_scene_retain(drv_scene *scene) { atomic_fetch_add(&scene->references, 1); }

void drv_scene_release(drv_scene *scene) {
    if (scene && atomic_fetch_sub(&scene->references, 1) == 1) drv_memory_release(scene);
}

drv_scene_facts drv_scene_describe(const drv_scene *scene) {
    return (drv_scene_facts){scene->segments.count, scene->edges.count, scene->grid.columns * scene->grid.rows,
                             scene->grid.cell_m, scene->bytes};
}
