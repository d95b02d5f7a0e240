/* What does a fuzzer do with the bytes of a scene file? It reads them; if they are valid, the core must accept the
 * scene in them, and it is stepped. */
#ifndef PLAY_FILE_H
#define PLAY_FILE_H

#include "scene/file_layout.h"
#include "play_scene.h"

enum { PLAY_AGENTS = 4 };

static inline const void *file_part(const drv_file *file, const uint8_t *bytes, drv_file_part part) {
    return bytes + file->sections[part].offset;
}

static inline int file_valid(const drv_file *file, const uint8_t *bytes, int64_t frame, int64_t object) {
    const uint8_t *bits = file_part(file, bytes, FILE_TRACK_VALID);
    const int64_t i = frame * file->object_count + object;
    return bits[i / 8] >> (i % 8) & 1;
}

/* Assigns roles: the first objects on the map at frame 0 are agents, the others that are ever valid are log-replay
 * vehicles. Returns the number of agents; `order` lists agents, then log-replay vehicles. */
static inline int32_t role_objects(const drv_file *file, const uint8_t *bytes, int32_t *order, int32_t *log_replays) {
    int32_t agents = 0;
    for (int32_t i = 0; i < file->object_count && agents < PLAY_AGENTS; i++)
        if (file_valid(file, bytes, 0, i)) order[agents++] = i;
    *log_replays = 0;
    for (int32_t i = 0; i < file->object_count; i++) {
        int is_agent = 0, is_valid = 0;
        for (int32_t agent = 0; agent < agents; agent++) is_agent |= order[agent] == i;
        for (int32_t frame = 0; !is_agent && !is_valid && frame < file->frame_count; frame++)
            is_valid = file_valid(file, bytes, frame, i);
        if (is_valid) order[agents + (*log_replays)++] = i;
    }
    return agents;
}

static inline float *picked(const float *values, const int32_t *order, int64_t count, int64_t stride, int64_t offset) {
    float *out = play_array(count, sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i] = values[order[i] * stride + offset];
    return out;
}

/* The tracks of some objects from frame 0 on. */
static inline float *picked_log(const drv_file *file, const uint8_t *bytes, drv_file_part part, const int32_t *order,
                                int64_t count) {
    const float *values = file_part(file, bytes, part);
    float *out = play_array(file->frame_count * count, sizeof *out);
    for (int64_t frame = 0; frame < file->frame_count; frame++)
        for (int64_t i = 0; i < count; i++) out[frame * count + i] = values[frame * file->object_count + order[i]];
    return out;
}

/* Steps the scene of a valid file. Every array has exactly its size, so that the sanitizer detects accesses beyond
 * it. */
static inline void play_valid_file(const drv_file *file, const uint8_t *bytes, uint32_t draw) {
    /* roles, kinds, and where logs are valid */
    int32_t log_replays = 0, *order = play_array(file->object_count, sizeof *order);
    const int32_t agents = role_objects(file, bytes, order, &log_replays), vehicles = agents + log_replays;
    const float *goal_m = file_part(file, bytes, FILE_OBJECT_GOAL);
    const int32_t *starters = order, *loggers = order + agents;
    uint8_t *kind = play_array(vehicles, 1), *log_valid = play_array(file->frame_count * (int64_t)log_replays, 1);
    for (int32_t i = 0; i < vehicles; i++)
        kind[i] = ((const uint8_t *)file_part(file, bytes, FILE_OBJECT_KIND))[order[i]];
    for (int32_t frame = 0; frame < file->frame_count; frame++)
        for (int32_t i = 0; i < log_replays; i++)
            log_valid[frame * log_replays + i] = (uint8_t)file_valid(file, bytes, frame, loggers[i]);
    /* the numbers of vehicles, in the order of roles */
    float *made[] = {picked(file_part(file, bytes, FILE_OBJECT_LENGTH), order, vehicles, 1, 0),
                     picked(file_part(file, bytes, FILE_OBJECT_WIDTH), order, vehicles, 1, 0),
                     picked(file_part(file, bytes, FILE_TRACK_X), starters, vehicles, 1, 0),
                     picked(file_part(file, bytes, FILE_TRACK_Y), starters, vehicles, 1, 0),
                     picked(file_part(file, bytes, FILE_TRACK_HEADING), starters, vehicles, 1, 0),
                     picked(file_part(file, bytes, FILE_TRACK_VX), starters, vehicles, 1, 0),
                     picked(file_part(file, bytes, FILE_TRACK_VY), starters, vehicles, 1, 0),
                     picked(goal_m, starters, agents, 2, 0),
                     picked(goal_m, starters, agents, 2, 1),
                     picked_log(file, bytes, FILE_TRACK_X, loggers, log_replays),
                     picked_log(file, bytes, FILE_TRACK_Y, loggers, log_replays),
                     picked_log(file, bytes, FILE_TRACK_HEADING, loggers, log_replays),
                     picked_log(file, bytes, FILE_TRACK_VX, loggers, log_replays),
                     picked_log(file, bytes, FILE_TRACK_VY, loggers, log_replays)};
    /* the scene; its roads are read in place */
    const drv_scene_input in = {
        .name = "fuzzed", .dt_s = (float)file->dt_s, .trial_steps = PLAY_TRIAL_STEPS, .num_agents = agents,
        .log_replay_count = log_replays, .vehicle_count = vehicles, .frame_count = file->frame_count, .kind = kind,
        .length_m = made[0], .width_m = made[1], .start_x_m = made[2], .start_y_m = made[3],
        .start_heading_rad = made[4], .start_vx_mps = made[5], .start_vy_mps = made[6], .goal_x_m = made[7],
        .goal_y_m = made[8], .log_x_m = made[9], .log_y_m = made[10], .log_heading_rad = made[11],
        .log_vx_mps = made[12], .log_vy_mps = made[13], .log_valid = log_valid, .road_count = file->road_count,
        .point_count = file->point_count, .link_count = file->link_count,
        .road_start = file_part(file, bytes, FILE_ROAD_START),
        .road_kind = file_part(file, bytes, FILE_ROAD_KIND), .road_width_m = file_part(file, bytes, FILE_ROAD_WIDTH),
        .road_speed_limit_mps = file_part(file, bytes, FILE_ROAD_LIMIT),
        .point_x_m = file_part(file, bytes, FILE_POINT_X), .point_y_m = file_part(file, bytes, FILE_POINT_Y),
        .lane_start = file_part(file, bytes, FILE_LINK_START),
        .lane_successor = file_part(file, bytes, FILE_LINK_TO)};
    char message[DRV_MESSAGE_BYTES] = "";
    if (agents > 0 && play_extent_m(&in) <= play_extent_limit_m)
        MUST(play_scene(&in, draw, message) == DRV_OK, "the reader accepted what the core refuses: %s", message);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) free(made[i]);
    free(order);
    free(kind);
    free(log_valid);
}

/* Returns the status of the reader. `bytes` may begin anywhere; the reader gets a copy of exactly that size. */
static inline drv_status play_file(const uint8_t *bytes, size_t byte_count, char *message) {
    uint8_t *copy = play_array((int64_t)byte_count, 1);
    if (byte_count > 0) memcpy(copy, bytes, byte_count);
    drv_file file;
    message[0] = '\0';
    const drv_status status = drv_file_read(copy, byte_count, &file, message);
    MUST((status == DRV_OK) == (message[0] == '\0'), "status %d says \"%s\"", status, message);
    uint32_t draw = 0;
    for (size_t i = 0; i < byte_count; i++) draw = draw * 31u + copy[i];
    if (status == DRV_OK) play_valid_file(&file, copy, draw);
    free(copy);
    return status;
}

#endif
