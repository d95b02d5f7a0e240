/* What does an observation config add to a scene? Records in the scales of observations, and search bounds. */
#include "view/encoding.h"

#include <stdlib.h>
#include <string.h>

#include "math/geometry.h"
#include "platform/fp_env.h"

/* Functions with arithmetic between drv_fp_env_begin and _end are not inlined: a compiler may move the operations of an
 * inlined one past those calls. */

/* ---- one scene ---- */

static void fill_roads(const drv_scene *scene, const drv_config *config, float *record) {
    const drv_segments *segments = &scene->segments;
    const float half = drv_layout_scale(config, SCALE_HALF_SEGMENT), width = drv_layout_scale(config, SCALE_LANE_WIDTH);
    const float speed = drv_layout_scale(config, SCALE_SPEED), kind = drv_layout_scale(config, SCALE_ROAD_KIND);
    for (int32_t i = 0; i < segments->count; i++, record += ROAD_COUNT) {
        const int32_t road = scene->segment_road[i];
        record[ROAD_X] = segments->middle_x_m[i];
        record[ROAD_Y] = segments->middle_y_m[i];
        record[ROAD_DIRECTION_X] = segments->along_x[i];
        record[ROAD_DIRECTION_Y] = segments->along_y[i];
        record[ROAD_HALF_LENGTH] = drv_smaller(segments->half_length_m[i] * half, 1.0f);
        record[ROAD_WIDTH] = drv_smaller(scene->road_width_m[road] * width, 1.0f);
        record[ROAD_SPEED_LIMIT] = drv_smaller(scene->road_speed_limit_mps[road] * speed, 1.0f);
        record[ROAD_KIND] = (float)scene->road_kind[road] * kind;
    }
}

/* One record for each state of a light: as fixed as the map, so that index observations can refer to them. */
static void fill_controls(const drv_scene *scene, const drv_config *config, float *record) {
    const float kind = drv_layout_scale(config, SCALE_CONTROL_KIND);
    for (int32_t i = 0; i < scene->control_count; i++)
        for (int32_t state = 0; state < DRV_LIGHT_STATES; state++, record += CONTROL_COUNT) {
            memcpy(record + CONTROL_LEFT_X, scene->control_line_m + 4 * (int64_t)i, 4 * sizeof *record);
            record[CONTROL_RED] = state == DRV_LIGHT_RED;
            record[CONTROL_YELLOW] = state == DRV_LIGHT_YELLOW;
            record[CONTROL_GREEN] = state == DRV_LIGHT_GREEN;
            record[CONTROL_KIND] = (float)scene->control_kind[i] * kind;
        }
}

static void fill_candidates(const drv_scene *scene, float *record) {
    for (int32_t i = 0; i < scene->candidate_count; i++, record += CANDIDATE_COUNT) {
        record[CANDIDATE_X] = scene->candidate_x_m[i];
        record[CANDIDATE_Y] = scene->candidate_y_m[i];
        record[CANDIDATE_KIND] = 1.0f;
    }
}

static void fill_records(const drv_scene *scene, const drv_config *config, float *record) {
    fill_roads(scene, config, record);
    if (config->controls > 0)
        fill_controls(scene, config, record + (int64_t)drv_control_record(scene, 0, 0) * DRV_RECORD_FLOATS);
}

int32_t drv_scene_record_count(const drv_scene *scene, const drv_config *config) {
    return drv_control_record(scene, config->controls > 0 ? scene->control_count : 0, 0);
}

__attribute__((noinline)) static void write_records(const drv_scene *scene, const drv_config *config, float *out) {
    memset(out, 0, DRV_RECORD_FLOATS * sizeof *out);
    fill_records(scene, config, out + DRV_RECORD_FLOATS);
}

void drv_scene_records(const drv_scene *scene, const drv_config *config, float *out) {
    const drv_fp_env saved = drv_fp_env_begin();
    write_records(scene, config, out);
    drv_fp_env_end(saved);
}

__attribute__((noinline)) static int32_t count_clipped(const drv_scene *scene, const drv_config *config) {
    int32_t count = 0;
    for (int32_t agent = 0; agent < scene->num_agents; agent++)
        count += drv_start_speed_mps(scene, config, agent) != scene->start_speed_mps[agent];
    return count;
}

int32_t drv_scene_clipped_start_speeds(const drv_scene *scene, const drv_config *config) {
    const drv_fp_env saved = drv_fp_env_begin();
    const int32_t count = count_clipped(scene, config);
    drv_fp_env_end(saved);
    return count;
}

/* ---- all scenes of a batch ---- */

typedef struct listed_scene {
    const drv_scene *scene;
    int32_t index;
} listed_scene;

static int by_scene_then_index(const void *left, const void *right) {
    const listed_scene *a = left, *b = right;
    const uintptr_t one = (uintptr_t)a->scene, other = (uintptr_t)b->scene;
    return one != other ? (one > other) - (one < other) : (a->index > b->index) - (a->index < b->index);
}

/* Returns, for each scene, the first index at which it is listed; NULL if out of memory. The caller frees it. */
static int32_t *first_indices(drv_scene *const *scenes, int32_t scene_count) {
    listed_scene *listed = malloc((size_t)scene_count * sizeof *listed);
    int32_t *first = malloc((size_t)scene_count * sizeof *first);
    if (listed && first) {
        for (int32_t i = 0; i < scene_count; i++) listed[i] = (listed_scene){scenes[i], i};
        qsort(listed, (size_t)scene_count, sizeof *listed, by_scene_then_index);
        for (int32_t i = 0; i < scene_count; i++) {
            const bool repeats = i > 0 && listed[i].scene == listed[i - 1].scene;
            first[listed[i].index] = repeats ? first[listed[i - 1].index] : listed[i].index;
        }
        free(listed);
        return first;
    }
    free(listed);
    free(first);
    return NULL;
}

static int32_t cell_count(const drv_scene *scene) { return scene->grid.columns * scene->grid.rows; }

static uint64_t record_bytes(const drv_scene *scene, const drv_config *config) {
    const uint64_t count = (uint64_t)drv_scene_record_count(scene, config);
    return drv_round_up_to_line(count * DRV_RECORD_FLOATS * sizeof(float));
}

static uint64_t candidate_bytes(const drv_scene *scene) {
    return drv_round_up_to_line((uint64_t)scene->candidate_count * CANDIDATE_COUNT * sizeof(float));
}

static uint64_t kth_distance_bytes(const drv_scene *scene) {
    return drv_round_up_to_line((uint64_t)cell_count(scene) * sizeof(float));
}

/* Acquires one block: the encodings, their layout, then the arrays of each, in the order of the scenes, so that those
 * read together are side by side. */
__attribute__((noinline)) static drv_encoding *lay_out(drv_scene *const *scenes, const int32_t *first,
                                                       int32_t scene_count, const drv_config *config,
                                                       drv_arena *arena) {
    /* measure and acquire */
    const uint64_t layout_begin = drv_round_up_to_line((uint64_t)scene_count * sizeof(drv_encoding));
    const uint64_t arrays_begin = layout_begin + drv_round_up_to_line(sizeof(drv_layout));
    uint64_t used = arrays_begin;
    for (int32_t i = 0; i < scene_count; i++)
        if (first[i] == i)
            used += record_bytes(scenes[i], config) + candidate_bytes(scenes[i]) + kth_distance_bytes(scenes[i]);
    drv_encoding *encodings = drv_arena_acquire(arena, used);
    if (!encodings) return NULL;

    /* set the pointers */
    drv_layout *layout = (drv_layout *)(void *)((uint8_t *)encodings + layout_begin);
    uint8_t *next = (uint8_t *)encodings + arrays_begin;
    *layout = drv_layout_of(config);
    for (int32_t i = 0; i < scene_count; i++) {
        if (first[i] != i) {
            encodings[i] = encodings[first[i]];
            continue;
        }
        encodings[i].layout = layout;
        encodings[i].record = (float *)(void *)next;
        next += record_bytes(scenes[i], config);
        encodings[i].candidate = (float *)(void *)next;
        next += candidate_bytes(scenes[i]);
        encodings[i].cell_kth_distance_m = (float *)(void *)next;
        next += kth_distance_bytes(scenes[i]);
    }
    return encodings;
}

/* Scratch of drv_grid_measure_kth_distances for the largest scene; NULL if out of memory. */
static float *distances_for(drv_scene *const *scenes, int32_t scene_count) {
    int32_t largest = 1;
    for (int32_t i = 0; i < scene_count; i++)
        if (scenes[i]->segments.count > largest) largest = scenes[i]->segments.count;
    return malloc((size_t)largest * sizeof(float));
}

__attribute__((noinline)) static void fill(drv_encoding *encodings, drv_scene *const *scenes, const int32_t *first,
                                           int32_t scene_count, const drv_config *config, float *distances) {
    for (int32_t i = 0; i < scene_count; i++) {
        if (first[i] != i) continue;
        fill_records(scenes[i], config, encodings[i].record);
        fill_candidates(scenes[i], encodings[i].candidate);
        drv_grid_measure_kth_distances(&scenes[i]->grid, &scenes[i]->segments, config->roads, config->view_radius_m,
                                       distances, encodings[i].cell_kth_distance_m);
    }
}

drv_encoding *drv_encodings_create(drv_scene *const *scenes, int32_t scene_count, const drv_config *config,
                                   drv_arena *arena) {
    int32_t *first = first_indices(scenes, scene_count);
    float *distances = distances_for(scenes, scene_count);
    const drv_fp_env saved = drv_fp_env_begin();
    drv_encoding *encodings = first && distances ? lay_out(scenes, first, scene_count, config, arena) : NULL;
    if (encodings) fill(encodings, scenes, first, scene_count, config, distances);
    drv_fp_env_end(saved);
    free(first);
    free(distances);
    return encodings;
}
