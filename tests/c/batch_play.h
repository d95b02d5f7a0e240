/* How does a C test get a batch to step? The small scene in a few worlds; every array is allocated by itself and has
 * exactly its size. */
#ifndef BATCH_PLAY_H
#define BATCH_PLAY_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "drive.h"
#include "small_scene.h"

enum { WORLDS = 3, BLOCK_LINE = 64 };

/* The tables of the bicycle's actions. */
enum {
    PLAY_ACCELERATION_BINS = 7,
    PLAY_STEERING_BINS = 13,
    PLAY_ACTIONS = PLAY_ACCELERATION_BINS * PLAY_STEERING_BINS
};

/* A batch with its scene, block, arrays and message. */
typedef struct batch_play {
    drv_scene *scene;
    int64_t ids[WORLDS];
    drv_batch_setup setup;
    drv_batch_needs needs;
    void *block;
    int64_t *actions;
    float *shares;
    drv_arrays arrays;
    drv_batch *batch;
    char message[DRV_MESSAGE_BYTES];
} batch_play;

static inline void begin_scene(batch_play *play, drv_config config, int32_t threads) {
    small_scene small;
    make_small(&small);
    memset(play, 0, sizeof *play);
    const drv_status status = drv_scene_create(&small.input, NULL, &play->scene, play->message);
    CHECK(status == DRV_OK, "%s", play->message);
    for (int32_t i = 0; i < WORLDS; i++) play->ids[i] = i;
    play->setup = (drv_batch_setup){.config = config, .num_worlds = WORLDS, .agents_per_world = SMALL_AGENTS,
                                    .scene_count = 1, .scenes = &play->scene, .world_ids = play->ids, .seed = 7,
                                    .thread_count = threads};
}

static inline void *made(size_t count, size_t item_bytes) {
    /* Filled with garbage: what the core does not write must not be read. */
    void *array = malloc(count * item_bytes);
    memset(array, 0xa5, count * item_bytes);
    return array;
}

/* Creates the batch of a complete setup, and its arrays. */
static inline void begin_batch(batch_play *play) {
    CHECK(drv_batch_plan(&play->setup, &play->needs, play->message) == DRV_OK, "%s", play->message);
    const size_t agents = (size_t)play->needs.num_agents;
    play->block = aligned_alloc(BLOCK_LINE, (size_t)play->needs.block_bytes);
    memset(play->block, 0x5a, (size_t)play->needs.block_bytes);
    CHECK(drv_batch_create(&play->setup, play->block, play->needs.block_bytes, &play->batch, play->message) == DRV_OK,
          "%s", play->message);
    play->actions = made(agents * (size_t)play->needs.action_width, sizeof *play->actions);
    play->shares = made(agents * (size_t)play->needs.action_width, sizeof *play->shares);
    const int discrete = play->setup.config.action_type != DRV_CONTINUOUS;
    play->arrays = (drv_arrays){
        .actions = discrete ? (void *)play->actions : (void *)play->shares,
        .observations = made(agents * (size_t)play->needs.observation_bytes, 1),
        .rewards = made(agents, sizeof(float)), .terminations = made(agents, 1), .truncations = made(agents, 1),
        .trial_ended = made(agents, 1), .truncation = made(agents, 1), .invalid_step = made(agents, 1),
        .first = made(agents, 1), .trial_index = made(agents, sizeof(int32_t)), .removed = made(agents, 1),
        .stopped = made(agents, 1), .waits = made(agents, 1), .outcome = made(agents, 1),
        .code = made(agents, sizeof(uint16_t)), .scene_index = made((size_t)play->setup.num_worlds, sizeof(int32_t))};
    drv_batch_bind(play->batch, &play->arrays);
}

static inline void begin(batch_play *play, drv_config config, int32_t threads) {
    begin_scene(play, config, threads);
    begin_batch(play);
}

static inline void end(batch_play *play) {
    drv_batch_free(play->batch);
    drv_scene_release(play->scene);
    free(play->block);
    free(play->actions);
    free(play->shares);
    drv_arrays *a = &play->arrays;
    void *const all[] = {a->observations, a->rewards, a->terminations, a->truncations, a->trial_ended, a->truncation,
                         a->invalid_step, a->first, a->trial_index, a->removed, a->stopped, a->waits, a->outcome,
                         a->code, a->scene_index};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static inline void act(batch_play *play, int64_t acceleration_bin, int64_t steering_bin) {
    for (int32_t agent = 0; agent < play->needs.num_agents; agent++) {
        if (play->needs.action_width == 1) play->actions[agent] = acceleration_bin * PLAY_STEERING_BINS + steering_bin;
        if (play->needs.action_width == 1) continue;
        play->actions[2 * agent] = acceleration_bin;
        play->actions[2 * agent + 1] = steering_bin;
        play->shares[2 * agent] = (float)(acceleration_bin - 3) / 3.0f;
        play->shares[2 * agent + 1] = (float)(steering_bin - 6) / 6.0f;
    }
}

static inline void must_step(batch_play *play) {
    const drv_status status = drv_batch_step(play->batch, DRV_WHOLE_BATCH, NULL, play->message);
    CHECK(status == DRV_OK, "%d: %s", status, play->message);
}

static inline void must_reset(batch_play *play, const uint64_t *seed) {
    uint64_t seeds[64]; /* more than the worlds of any test here */
    for (int world = 0; world < 64; world++) seeds[world] = seed ? *seed : 0;
    const drv_status status = drv_batch_reset(play->batch, DRV_WHOLE_BATCH, seed ? seeds : NULL, NULL, NULL,
                                              play->message);
    CHECK(status == DRV_OK, "%d: %s", status, play->message);
}

#endif
