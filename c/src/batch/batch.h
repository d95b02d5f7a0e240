/* What is a batch? Worlds, their memory, and for each part of them the call in progress. */
#ifndef DRV_BATCH_H
#define DRV_BATCH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "batch/ownership.h"
#include "drive.h"
#include "platform/arena.h"
#include "platform/fp_env.h"
#include "platform/pool.h"
#include "step/kernels.h"
#include "view/road_cache.h"

/* An array has one entry per agent, or one per world. */
enum { AGENTS = 0, WORLDS = 1 };

enum {
#define X(type, name, letter, per, shape, phases, meaning) DRV_ARRAY_##name,
    DRV_ARRAYS(X)
#undef X
    DRV_ARRAY_COUNT
};

/* The memory of one thread, padded by two cache lines against false sharing. */
typedef struct drv_worker {
    drv_scratch scratch;
    int64_t phase_ns[DRV_PHASE_COUNT];
    uint8_t padding[128];
} drv_worker;

/* Worlds that are called together, and the arguments of the call in progress. */
typedef struct drv_part {
    drv_batch *batch;
    int32_t number; /* of its bits in the ownership word, and of its queue in the pool */
    int32_t first_world, num_worlds;
    drv_fp_env callers_fp_env;
    /* One entry per world of the part. */
    const uint8_t *chosen; /* worlds to reset, NULL all */
    const uint64_t *seeds; /* NULL: next episode */
    const int32_t *ages;   /* NULL: none */
    uint8_t *restart_out;
    const float *rewards; /* one per agent */
} drv_part;

struct drv_batch {
    drv_config config;
    drv_action_space action_space;
    drv_columns columns;
    const drv_kernels *kernels;
    drv_arena *arena; /* holds all below but the block, the caller's arrays and the pool */
    int32_t num_worlds, scene_count;
    drv_scene **scenes;
    drv_encoding *encodings; /* one per scene */
    drv_road_cache *road_cache;
    drv_sizes sizes;
    drv_batch_needs needs;
    uint8_t *block;
    uint64_t world_bytes;
    drv_arrays arrays;
    int64_t entry_bytes[DRV_ARRAY_COUNT]; /* of an agent or a world in each of the arrays */
    drv_pool *pool;
    drv_worker *workers;
    drv_actions actions; /* the core's own copy, of all agents */
    bool closed, times_phases;
    bool torn; /* the process forked during a call or a step */
    drv_ownership ownership;
    atomic_bool closing; /* refuses further calls, so that closing never waits forever */
    drv_part parts[1 + DRV_PART_LIMIT];
};

/* ---- setup.c ---- */

drv_sizes drv_batch_sizes(const drv_batch_setup *setup);
/* Checks that every member is in its range. */
drv_status drv_batch_check_config(const drv_config *config, char *message);

/* ---- scratch.c ---- */

/* Allocates the workers with their scratch memory; false if out of memory. */
bool drv_batch_make_scratch(drv_batch *batch);

/* ---- worlds.c ---- */

/* Fills in entry_bytes. */
void drv_batch_measure_arrays(drv_batch *batch);
uint8_t *drv_batch_world_block(const drv_batch *batch, int32_t number);
/* Returns a world: pointers to its scene, to its entries of the caller's arrays, and to its state in `world_block`,
 * which is its part of the batch's block or a copy. */
drv_world drv_batch_world_in(const drv_batch *batch, int32_t number, void *world_block);
drv_world drv_batch_world(const drv_batch *batch, int32_t number);
/* The core's copy of the actions, from a world's first agent on. */
drv_actions drv_batch_actions(const drv_batch *batch, int32_t number);

/* ---- ownership.c ---- */

/* Enters a part: until it is left, no other call can reach its worlds, and the thread has the core's floating-point
 * environment. NULL and an error message if the batch is closed, or if a call or a step in flight holds one of the
 * worlds. */
drv_part *drv_batch_enter(drv_batch *batch, int32_t index, char *message);
void drv_batch_leave(drv_part *part);
/* The first leaves the call but keeps the worlds, for a step in flight; the second enters the part again to end that
 * step. */
void drv_batch_leave_in_flight(drv_part *part);
drv_part *drv_batch_enter_flight(drv_batch *batch, int32_t index, char *message);

#endif
