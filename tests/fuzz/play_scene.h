/* What does a fuzzer do with a scene that was accepted? It makes a few steps; the outputs must obey the laws. */
#ifndef PLAY_SCENE_H
#define PLAY_SCENE_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../c/small_scene.h"
#include "drive.h"

enum { PLAY_TRIAL_STEPS = 3, PLAY_STEPS = 5, PLAY_LINE = 64 };

/* A law is broken: the fuzzer keeps the input. */
#define MUST(claim, ...)                                                 \
    do {                                                                 \
        if (!(claim)) {                                                  \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #claim); \
            fprintf(stderr, __VA_ARGS__);                                \
            fprintf(stderr, "\n");                                       \
            abort();                                                     \
        }                                                                \
    } while (0)

static inline void *play_array(int64_t count, size_t item_bytes) {
    void *array = malloc((size_t)count * item_bytes + (count == 0));
    MUST(array != NULL, "no memory for %lld items", (long long)count);
    /* Filled with garbage: what the core does not write must not be read. */
    memset(array, 0xa5, (size_t)count * item_bytes);
    return array;
}

/* A map of 100 km takes milliseconds; a fuzzer needs thousands of inputs per second. */
static const float play_extent_limit_m = 250.0f;

/* The largest distance of a point of the map from its first one, along x or y. */
static inline float play_extent_m(const drv_scene_input *in) {
    float extent_m = 0.0f;
    for (int32_t i = 1; i < in->point_count; i++)
        extent_m = fmaxf(extent_m, fmaxf(fabsf(in->point_x_m[i] - in->point_x_m[0]),
                                         fabsf(in->point_y_m[i] - in->point_y_m[0])));
    return extent_m;
}

static inline void check_floats(const void *agent, int32_t count) {
    const float *observed = agent;
    for (int32_t i = 0; i < count; i++)
        MUST(observed[i] >= -1.0f && observed[i] <= 1.0f, "observation %d is %g", i, (double)observed[i]);
}

/* Without the sign, the bits of half floats are in the order of their sizes. */
static inline void check_halves(const void *agent, int32_t count) {
    const uint16_t *observed = agent, one = 0x3c00;
    for (int32_t i = 0; i < count; i++)
        MUST((observed[i] & 0x7fff) <= one, "observation %d is half %04x", i, observed[i]);
}

static inline void check_indices(const void *entries, int32_t count, int32_t table_count) {
    const uint16_t *observed = entries;
    for (int32_t i = 0; i < count; i++) MUST(observed[i] < table_count, "slot %d shows entry %d", i, observed[i]);
}

static inline void check_agent(const drv_config *config, const uint8_t *agent, const drv_batch_needs *needs,
                               int32_t records) {
    const drv_index_layout place = drv_index_observation(config);
    if (config->observation_type == DRV_FLOAT32) check_floats(agent, needs->observation_size);
    if (config->observation_type == DRV_FLOAT16) check_halves(agent, needs->observation_size);
    if (config->observation_type != DRV_INDEX) return;
    check_floats(agent, place.head_count);
    /* The sets of candidate goals, of goals and of the route are empty in index observations. */
    enum { SETS = 6 };
    drv_observation_set sets[SETS];
    MUST(drv_observation_sets(config, sets, SETS) == SETS, "another set is not checked");
    const int32_t entries[SETS] = {1 + needs->vehicles_per_world, 1 + records, 1, 1 + records, 1, 1};
    for (int32_t i = 0; i < SETS; i++) check_indices(agent + sets[i].index_offset_bytes, sets[i].slots, entries[i]);
}

static inline void play_check(const drv_config *config, const drv_arrays *arrays, const drv_batch_needs *needs,
                              int32_t records) {
    for (int32_t agent = 0; agent < needs->num_agents; agent++)
        check_agent(config, arrays->observations + (int64_t)agent * needs->observation_bytes, needs, records);
    for (int32_t agent = 0; agent < needs->num_agents; agent++) {
        MUST(isfinite(arrays->rewards[agent]), "reward %d is %g", agent, (double)arrays->rewards[agent]);
        MUST(!(arrays->terminations[agent] && arrays->truncations[agent]), "agent %d has both flags", agent);
        MUST(arrays->invalid_step[agent] == 0 || arrays->rewards[agent] == 0.0f,
             "agent %d has a reward for an invalid step", agent);
    }
}

static inline void play_batch(drv_scene *scene, const drv_config *config, int32_t agents, uint32_t draw) {
    /* the batch, in a block of garbage */
    char message[DRV_MESSAGE_BYTES] = "";
    const int64_t world_ids[2] = {0, 1};
    const drv_batch_setup setup = {.config = *config, .num_worlds = 2, .agents_per_world = agents, .scene_count = 1,
                                   .scenes = &scene, .world_ids = world_ids, .seed = draw, .thread_count = 1};
    drv_batch_needs needs;
    MUST(drv_batch_plan(&setup, &needs, message) == DRV_OK, "%s", message);
    void *block = aligned_alloc(PLAY_LINE, (size_t)needs.block_bytes);
    MUST(block != NULL, "no memory for a block");
    memset(block, 0x5a, (size_t)needs.block_bytes);
    drv_batch *batch = NULL;
    MUST(drv_batch_create(&setup, block, needs.block_bytes, &batch, message) == DRV_OK, "%s", message);
    /* the arrays */
    const int64_t count = needs.num_agents, table = setup.num_worlds * (int64_t)(1 + needs.vehicles_per_world);
    const uint32_t actions = (uint32_t)drv_action_space_of(config).count;
    const int32_t records = drv_scene_record_count(scene, config);
    const drv_arrays arrays = {
        .actions = play_array(count * needs.action_width, sizeof(int64_t)),
        .observations = play_array(count * needs.observation_bytes, 1),
        .vehicle_table = play_array(table * DRV_RECORD_FLOATS, sizeof(float)),
        .rewards = play_array(count, sizeof(float)), .terminations = play_array(count, 1),
        .truncations = play_array(count, 1), .trial_ended = play_array(count, 1), .truncation = play_array(count, 1),
        .invalid_step = play_array(count, 1), .first = play_array(count, 1),
        .trial_index = play_array(count, sizeof(int32_t)), .removed = play_array(count, 1),
        .stopped = play_array(count, 1), .waits = play_array(count, 1), .outcome = play_array(count, 1),
        .code = play_array(count, sizeof(uint16_t)), .scene_index = play_array(setup.num_worlds, sizeof(int32_t))};
    drv_batch_bind(batch, &arrays);
    /* a trial, its restart and the first step of the next */
    MUST(drv_batch_reset(batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, message) == DRV_OK, "%s", message);
    play_check(config, &arrays, &needs, records);
    for (int step = 0; step < PLAY_STEPS; step++) {
        for (int64_t agent = 0; agent < count; agent++) {
            draw = draw * 1664525u + 1013904223u; /* Numerical Recipes' quick generator */
            ((int64_t *)arrays.actions)[agent] = (int64_t)((draw >> 16) % actions);
        }
        MUST(drv_batch_step(batch, DRV_WHOLE_BATCH, NULL, message) == DRV_OK, "%s", message);
        play_check(config, &arrays, &needs, records);
    }
    drv_batch_free(batch);
    free(block);
    void *const all[] = {arrays.actions, arrays.observations, arrays.vehicle_table, arrays.rewards,
                         arrays.terminations, arrays.truncations, arrays.trial_ended, arrays.truncation,
                         arrays.invalid_step, arrays.first, arrays.trial_index, arrays.removed, arrays.stopped,
                         arrays.waits, arrays.outcome, arrays.code, arrays.scene_index};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Finds the route of agent 0 and every point of it. */
static inline void play_route(const drv_scene *scene, const drv_scene_input *in) {
    const drv_route_ends ends = {in->start_x_m[0], in->start_y_m[0], in->start_heading_rad[0], in->goal_x_m[0],
                                 in->goal_y_m[0], NAN, NAN};
    char message[DRV_MESSAGE_BYTES] = "";
    const int32_t capacity = in->road_count + 1;
    drv_route_lane *lanes = play_array(capacity, sizeof *lanes);
    float *x_m = play_array(in->point_count + 2, sizeof *x_m), *y_m = play_array(in->point_count + 2, sizeof *y_m);
    int32_t count = 0, points = 0;
    MUST(drv_scene_route(scene, &ends, capacity, lanes, &count, message) == DRV_OK && count <= capacity, "%s", message);
    for (int32_t i = 0; i < count; i++)
        MUST(drv_scene_lane_points(scene, lanes[i], in->point_count + 2, x_m, y_m, &points, message) == DRV_OK &&
             points >= 2, "%s", message);
    free(lanes);
    free(x_m);
    free(y_m);
}

/* Returns the status of the scene; plays it if it is valid. */
static inline drv_status play_scene(const drv_scene_input *in, uint32_t draw, char *message) {
    /* a config, each option of which is a bit of `draw` */
    drv_config config = small_config();
    config.min_speed_mps = draw & 1u ? -5.0f : 0.0f;
    config.on_collision = draw & 2u ? DRV_IGNORE : DRV_STOP;
    config.roads = draw & 4u ? 8 : 0;
    config.partners = draw & 8u ? 4 : 0;
    config.observation_type = (int32_t)(draw >> 4 & 3u) % (DRV_INDEX + 1);
    config.road_selection = draw & 64u ? DRV_ROADS_NEAR : DRV_ROADS_EXACT;
    config.road_memory_mib = draw & 128u ? 1 : 0;
    config.traffic_controls = draw & 256u ? 1 : 0;
    config.controls = config.traffic_controls ? 3 : 0;
    config.idm_lane_changes = in->has_lane_changes;
    config.idm_handback_m = draw & 32768u ? 5.0f : 0.0f;
    config.on_red_light = draw & 512u ? DRV_STOP : DRV_REMOVE;
    config.detailed_metrics = draw & 1024u ? 1 : 0;
    config.draw_reward_weights = 1;
    config.range_reward_time_per_s_low = draw & 2048u ? -1.0f : 0.0f;
    config.range_reward_red_light_low = draw & 4096u ? -2.0f : 0.0f;
    if (draw & 8192u && in->lane_start) {
        config.on_goal = DRV_NEXT;
        config.goal_spacing_m = draw & 16384u ? 1.0f : 40.0f;
        config.goals = config.observation_type == DRV_INDEX ? 0 : 3;
        config.goal_radius_m = draw & 32768u ? 1000.0f : 2.0f; /* goals of lists follow one another quickly */
        config.goal_heading_tolerance_rad = config.goals > 0 && draw & 1024u ? 1.0f : -1.0f;
    } else if (draw & 16384u) {
        config.on_goal = DRV_RESPAWN;
        config.goal_radius_m = draw & 32768u ? 1000.0f : 2.0f;
    }
    /* the scene, with routes in some of those that have lanes */
    drv_scene_input input = *in;
    input.has_routes = draw % 5 < 2 && in->lane_start;
    if (input.has_routes) {
        config.reward_route_progress_per_m = 0.1f;
        config.route = config.observation_type == DRV_INDEX ? 0 : 3;
        config.route_spacing_m = draw & 1u ? 0.5f : 20.0f;
    }
    drv_scene *scene = NULL;
    const drv_status status = drv_scene_create(&input, NULL, &scene, message);
    MUST((status == DRV_OK) == (scene != NULL), "status %d", status);
    MUST(status == DRV_OK || strstr(message, "scene "), "it says \"%s\"", message);
    if (status == DRV_OK) play_batch(scene, &config, in->num_agents, draw >> 8);
    if (status == DRV_OK && in->lane_start) play_route(scene, in);
    drv_scene_release(scene);
    return status;
}

#endif
