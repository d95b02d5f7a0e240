/* How does a C test get a batch to step? The small scene in a few worlds.
 *
 * Every array is an allocation of its own and of exactly its size, so that a sanitizer detects any overrun. */
#ifndef BATCH_FIXTURE_H
#define BATCH_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "drive.h"
#include "scene_fixture.h"
#include "small_scene.h"

enum { WORLDS = 3, BLOCK_ALIGNMENT = 64, PHASE_CAPACITY = 64 /* of arrays of phase times */ };

/* The bins of the bicycle's actions; those in the middle neither accelerate nor steer. */
enum {
    ACCELERATION_BINS = 7,
    STEERING_BINS = 13,
    COAST = ACCELERATION_BINS / 2,
    STRAIGHT = STEERING_BINS / 2,
    ACTION_COUNT = ACCELERATION_BINS * STEERING_BINS
};

/* A batch with its scene, block, arrays and message. */
typedef struct batch_fixture {
    drv_scene *scene;
    int64_t ids[WORLDS];
    drv_batch_setup setup;
    drv_batch_needs needs;
    void *block;
    int64_t *actions; /* discrete and multi-discrete */
    float *shares;    /* continuous: shares of the largest control */
    drv_arrays arrays;
    drv_batch *batch;
    char message[DRV_MESSAGE_BYTES];
} batch_fixture;

static inline void set_up_scene(batch_fixture *test, drv_config config, int32_t threads) {
    small_scene small;
    make_small(&small);
    memset(test, 0, sizeof *test);
    test->scene = scene_of(&small.input);
    for (int32_t i = 0; i < WORLDS; i++) test->ids[i] = i;
    test->setup = (drv_batch_setup){.config = config, .num_worlds = WORLDS, .agents_per_world = SMALL_AGENTS,
                                    .scene_count = 1, .scenes = &test->scene, .world_ids = test->ids, .seed = 7,
                                    .thread_count = threads};
}

/* An array of garbage: what the core does not write must not be read. */
static inline void *garbage(size_t count, size_t item_bytes) {
    void *array = malloc(count * item_bytes);
    memset(array, 0xa5, count * item_bytes);
    return array;
}

/* Creates the batch of a complete setup, and its arrays. */
static inline void set_up_batch(batch_fixture *test) {
    /* the batch, in a block of garbage */
    CHECK(drv_batch_plan(&test->setup, &test->needs, test->message) == DRV_OK, "%s", test->message);
    const size_t agents = (size_t)test->needs.num_agents;
    test->block = aligned_alloc(BLOCK_ALIGNMENT, (size_t)test->needs.block_bytes);
    memset(test->block, 0x5a, (size_t)test->needs.block_bytes);
    CHECK(drv_batch_create(&test->setup, test->block, test->needs.block_bytes, &test->batch, test->message) == DRV_OK,
          "%s", test->message);
    /* the arrays; a batch of any action type has those of both forms of actions */
    test->actions = garbage(agents * (size_t)test->needs.action_width, sizeof *test->actions);
    test->shares = garbage(agents * (size_t)test->needs.action_width, sizeof *test->shares);
    const int discrete = test->setup.config.action_type != DRV_CONTINUOUS;
    test->arrays = (drv_arrays){
        .actions = discrete ? (void *)test->actions : (void *)test->shares,
        .observations = garbage(agents * (size_t)test->needs.observation_bytes, 1),
        .rewards = garbage(agents, sizeof(float)), .terminations = garbage(agents, 1),
        .truncations = garbage(agents, 1), .trial_ended = garbage(agents, 1), .truncation = garbage(agents, 1),
        .invalid_step = garbage(agents, 1), .first = garbage(agents, 1),
        .trial_index = garbage(agents, sizeof(int32_t)), .removed = garbage(agents, 1),
        .stopped = garbage(agents, 1), .waits = garbage(agents, 1), .outcome = garbage(agents, 1),
        .code = garbage(agents, sizeof(uint16_t)),
        .scene_index = garbage((size_t)test->setup.num_worlds, sizeof(int32_t))};
    drv_batch_bind(test->batch, &test->arrays);
}

static inline void set_up(batch_fixture *test, drv_config config, int32_t threads) {
    set_up_scene(test, config, threads);
    set_up_batch(test);
}

static inline void tear_down(batch_fixture *test) {
    drv_batch_free(test->batch);
    drv_scene_release(test->scene);
    free(test->block);
    free(test->actions);
    free(test->shares);
    drv_arrays *a = &test->arrays;
    void *const all[] = {a->observations, a->rewards, a->terminations, a->truncations, a->trial_ended, a->truncation,
                         a->invalid_step, a->first, a->trial_index, a->removed, a->stopped, a->waits, a->outcome,
                         a->code, a->scene_index};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Writes the same bins for all agents, in the form of each action type. */
static inline void act(batch_fixture *test, int64_t acceleration_bin, int64_t steering_bin) {
    for (int32_t agent = 0; agent < test->needs.num_agents; agent++) {
        if (test->needs.action_width == 1) {
            test->actions[agent] = acceleration_bin * STEERING_BINS + steering_bin;
            continue;
        }
        test->actions[2 * agent] = acceleration_bin;
        test->actions[2 * agent + 1] = steering_bin;
        test->shares[2 * agent] = (float)(acceleration_bin - COAST) / (float)COAST;
        test->shares[2 * agent + 1] = (float)(steering_bin - STRAIGHT) / (float)STRAIGHT;
    }
}

static inline void step_batch(batch_fixture *test) {
    const drv_status status = drv_batch_step(test->batch, DRV_WHOLE_BATCH, NULL, test->message);
    CHECK(status == DRV_OK, "%d: %s", status, test->message);
}

static inline void reset_batch(batch_fixture *test) {
    const drv_status status = drv_batch_reset(test->batch, DRV_WHOLE_BATCH, NULL, NULL, NULL, test->message);
    CHECK(status == DRV_OK, "%d: %s", status, test->message);
}

#endif
