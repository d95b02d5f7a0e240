/* How is a batch created, closed and freed? */
#include <stdlib.h>
#include <string.h>

#include "batch/batch.h"
#include "platform/arena.h"
#include "platform/error.h"

enum { block_alignment_bytes = 64 };

static bool make_actions(drv_batch *batch) {
    const bool continuous = batch->config.action_type == DRV_CONTINUOUS;
    const uint64_t count = (uint64_t)batch->needs.num_agents * (uint64_t)batch->needs.action_width;
    void *actions = drv_arena_acquire(batch->arena, count * (continuous ? sizeof(float) : sizeof(int64_t)));
    if (continuous) batch->actions.share = actions;
    else batch->actions.bin = actions;
    return actions != NULL;
}

/* Divides the worlds into parts that differ by at most one world. */
static void divide_into_parts(drv_batch *batch) {
    batch->parts[0] = (drv_part){.batch = batch, .num_worlds = batch->num_worlds};
    const int64_t worlds = batch->num_worlds, count = batch->ownership.part_count;
    for (int32_t i = 0; i < count; i++) {
        const int32_t first = (int32_t)(worlds * i / count), next = (int32_t)(worlds * (i + 1) / count);
        batch->parts[1 + i] =
            (drv_part){.batch = batch, .number = 1 + i, .first_world = first, .num_worlds = next - first};
    }
}

static bool retain_scenes(drv_batch *batch, const drv_batch_setup *setup) {
    batch->scenes = drv_arena_acquire(batch->arena, (uint64_t)setup->scene_count * sizeof *batch->scenes);
    for (int32_t i = 0; batch->scenes && i < setup->scene_count; i++) {
        batch->scenes[i] = setup->scenes[i];
        drv_scene_retain(batch->scenes[i]);
    }
    return batch->scenes != NULL;
}

/* Encodes the scenes and creates the road cache, which a batch without road slots does not have. */
static bool make_views(drv_batch *batch) {
    const drv_config *config = &batch->config;
    batch->encodings = drv_encodings_create(batch->scenes, batch->scene_count, config, batch->arena);
    if (config->roads == 0) return batch->encodings != NULL;
    batch->road_cache = drv_road_cache_create(batch->scenes, batch->scene_count, drv_road_cache_items(config),
                                              (uint64_t)config->road_memory_mib << 20, batch->arena);
    return batch->encodings && batch->road_cache;
}

/* Acquires all that the batch owns; false if out of memory. */
static bool acquire_all(drv_batch *batch, const drv_batch_setup *setup) {
    batch->arena = drv_arena_create();
    batch->pool = drv_pool_create(setup->thread_count, 1 + setup->part_count);
    return batch->arena && batch->pool && retain_scenes(batch, setup) && make_views(batch) &&
           drv_batch_make_scratch(batch) && make_actions(batch);
}

static void clear_state(drv_batch *batch, const drv_batch_setup *setup) {
    memset(batch->block, 0, (size_t)batch->needs.block_bytes);
    for (int32_t number = 0; number < setup->num_worlds; number++) {
        const drv_world world = drv_batch_world(batch, number);
        *world.id = setup->world_ids[number];
        *world.seed = setup->seed;
        *world.episode = -1;
    }
}

drv_status drv_batch_create(const drv_batch_setup *setup, void *block, uint64_t block_bytes, drv_batch **out,
                            char *message) {
    /* check the setup and the block */
    drv_batch_needs needs;
    drv_status status = drv_batch_plan(setup, &needs, message);
    *out = NULL;
    if (status != DRV_OK) return status;
    const unsigned offset = (unsigned)((uintptr_t)block % block_alignment_bytes);
    if (block_bytes < needs.block_bytes || offset != 0)
        return drv_fail(message, DRV_ERROR_MEMORY,
                        "the state block is %llu bytes at offset %u of a cache line; it must be at least %llu bytes at "
                        "offset 0", (unsigned long long)block_bytes, offset, (unsigned long long)needs.block_bytes);

    /* copy the setup */
    drv_batch *batch = calloc(1, sizeof *batch);
    if (batch) {
        batch->config = setup->config;
        batch->action_space = drv_action_space_of(&setup->config);
        batch->columns = drv_columns_of(&setup->config);
        batch->kernels = drv_kernels_choose(setup->instruction_set);
        batch->num_worlds = setup->num_worlds;
        batch->scene_count = setup->scene_count;
        batch->ownership.part_count = setup->part_count;
        batch->sizes = drv_batch_sizes(setup);
        batch->needs = needs;
        batch->block = block;
        batch->world_bytes = drv_state_world_bytes(batch->sizes);
        atomic_init(&batch->ownership.taken, 0);
        atomic_init(&batch->closing, false);
        drv_batch_measure_arrays(batch);
        divide_into_parts(batch);
    }

    /* acquire memory and the pool, then clear the state */
    if (!batch || !acquire_all(batch, setup)) {
        drv_batch_free(batch);
        return drv_fail(message, DRV_ERROR_MEMORY,
                        "no memory for a batch of %d worlds and %d threads with road_memory_mib %d", setup->num_worlds,
                        setup->thread_count, setup->config.road_memory_mib);
    }
    clear_state(batch, setup);
    *out = batch;
    return DRV_OK;
}

/* Releases all but `batch` itself, which other threads may still pass to calls. */
static void release_all(drv_batch *batch) {
    drv_pool_free(batch->pool);
    for (int32_t i = 0; batch->scenes && i < batch->scene_count; i++) drv_scene_release(batch->scenes[i]);
    drv_arena_free(batch->arena);
    batch->closed = true;
}

/* Completes the steps that are in flight, so that closing need not wait for their callers. */
static void end_flights(drv_batch *batch) {
    uint64_t found;
    for (drv_part *part = batch->parts; part <= batch->parts + batch->ownership.part_count; part++) {
        if (!drv_ownership_from_flight(&batch->ownership, part->number, &found)) continue;
        part->callers_fp_env = drv_fp_env_begin();
        drv_pool_end(batch->pool, part->number);
        drv_batch_leave(part);
    }
}

void drv_batch_close(drv_batch *batch) {
    uint64_t found;
    atomic_store(&batch->closing, true);
    while (!drv_ownership_acquire(&batch->ownership, DRV_OWNERSHIP_WHOLE, &found)) {
        end_flights(batch);
        drv_pool_yield(); /* until calls in progress in other threads have ended */
    }
    if (!batch->closed) release_all(batch);
    drv_ownership_release(&batch->ownership, DRV_OWNERSHIP_WHOLE);
}

void drv_batch_free(drv_batch *batch) {
    if (!batch) return;
    drv_batch_close(batch);
    free(batch);
}

void drv_batch_bind(drv_batch *batch, const drv_arrays *arrays) { batch->arrays = *arrays; }

void drv_batch_forked(drv_batch *batch) {
    /* The threads of calls and steps in progress do not exist here; what they were writing stays half written. */
    const bool in_progress = atomic_exchange(&batch->ownership.taken, 0) != 0;
    batch->torn = batch->torn || in_progress;
    if (in_progress && atomic_load(&batch->closing)) batch->closed = true;
    if (!batch->closed) drv_pool_forked(batch->pool);
}

drv_worlds drv_batch_part(const drv_batch *batch, int32_t index) {
    if (index < DRV_WHOLE_BATCH || index >= batch->ownership.part_count) return (drv_worlds){0, 0};
    return (drv_worlds){batch->parts[1 + index].first_world, batch->parts[1 + index].num_worlds};
}

const char *drv_batch_instruction_set(const drv_batch *batch) { return batch->kernels->isa; }

int32_t drv_batch_state_fields(const drv_batch *batch, drv_state_field *out, int32_t capacity) {
    int32_t count = 0;
    drv_state_field field;
    while (drv_state_describe(batch->sizes, count, &field)) {
        if (count < capacity) out[count] = field;
        count++;
    }
    return count;
}
