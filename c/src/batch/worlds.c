/* Where is a world in memory? Its state, its scene, and its part of the caller's arrays. */
#include <stddef.h>
#include <string.h>

#include "batch/batch.h"
#include "platform/error.h"

void drv_batch_measure_arrays(drv_batch *batch) {
    drv_array_field fields[DRV_ARRAY_COUNT];
    const int32_t count = drv_array_fields(&batch->config, &batch->needs, fields, DRV_ARRAY_COUNT);
    for (int32_t i = 0; i < count; i++) {
        const int64_t columns = fields[i].columns ? fields[i].columns : 1;
        const int64_t depth = fields[i].depth ? fields[i].depth : 1, width = fields[i].width ? fields[i].width : 1;
        const int32_t array = fields[i].offset / (int32_t)sizeof(void *), item_bytes = fields[i].type[1] - '0';
        batch->entry_bytes[array] = columns * depth * width * item_bytes;
    }
}

/* drv_batch_measure_arrays divides offsets by the size of a pointer. */
_Static_assert(sizeof(drv_arrays) == DRV_ARRAY_COUNT * sizeof(void *), "drv_arrays is an array of pointers");

uint8_t *drv_batch_world_block(const drv_batch *batch, int32_t number) {
    return batch->block + (uint64_t)number * batch->world_bytes;
}

drv_actions drv_batch_actions(const drv_batch *batch, int32_t number) {
    const int64_t first = (int64_t)number * batch->sizes.agents * batch->needs.action_width;
    const drv_actions all = batch->actions;
    return (drv_actions){all.bin ? all.bin + first : NULL, all.share ? all.share + first : NULL};
}

/* Returns a pointer to an entry; NULL where the batch has no such array. */
static void *entry_of(void *array, int64_t entry, int64_t entry_bytes) {
    return array ? (uint8_t *)array + entry * entry_bytes : NULL;
}

drv_world drv_batch_world_in(const drv_batch *batch, int32_t number, void *world_block) {
    drv_world world = {.config = &batch->config,
                       .action_space = &batch->action_space,
                       .columns = &batch->columns,
                       .scenes = batch->scenes,
                       .scene_count = batch->scene_count,
                       .encodings = batch->encodings,
                       .road_cache = batch->road_cache,
                       .sizes = batch->sizes,
                       .actions = drv_batch_actions(batch, number)};
    drv_state_attach(&world, world_block);
    world.scene = batch->scenes[*world.scene_index];
    world.encoding = &batch->encodings[*world.scene_index];
    const int64_t first[] = {[AGENTS] = (int64_t)number * batch->sizes.agents, [WORLDS] = number};
#define X(type, name, letter, per, shape, phases, meaning) \
    world.out.name = entry_of(batch->arrays.name, first[per], batch->entry_bytes[DRV_ARRAY_##name]);
    DRV_ARRAYS(X)
#undef X
    world.out.actions = NULL; /* phases read the core's copy */
    return world;
}

drv_world drv_batch_world(const drv_batch *batch, int32_t number) {
    return drv_batch_world_in(batch, number, drv_batch_world_block(batch, number));
}

/* ---- copies ---- */

drv_status drv_batch_copy_world(drv_batch *batch, int32_t world, void *out, char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    drv_status status = DRV_OK;
    if (world < 0 || world >= batch->num_worlds)
        status = drv_fail(message, DRV_ERROR_CALL, "world is %d; it must be 0 to %d", world, batch->num_worlds - 1);
    else
        memcpy(out, drv_batch_world_block(batch, world), (size_t)batch->world_bytes);
    drv_batch_leave(whole);
    return status;
}

drv_status drv_batch_goals(drv_batch *batch, int32_t world, int32_t capacity, float *goal_m, int32_t *count,
                           char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    drv_status status = DRV_OK;
    if (world < 0 || world >= batch->num_worlds || capacity < 0)
        status = drv_fail(message, DRV_ERROR_CALL, "world is %d and capacity %d; they must be 0 to %d, and at least 0",
                          world, capacity, batch->num_worlds - 1);
    for (int32_t agent = 0; status == DRV_OK && agent < batch->sizes.agents; agent++) {
        const drv_world of = drv_batch_world(batch, world);
        count[agent] = batch->kernels->goals_ahead(&of, agent, capacity, goal_m + (int64_t)agent * capacity * 3);
    }
    drv_batch_leave(whole);
    return status;
}

drv_status drv_batch_copy(drv_batch *batch, void *block, const drv_arrays *arrays, char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    const int64_t count[] = {[AGENTS] = batch->needs.num_agents, [WORLDS] = batch->num_worlds};
    memcpy(block, batch->block, (size_t)batch->needs.block_bytes);
#define X(type, name, letter, per, shape, phases, meaning) \
    if (batch->arrays.name)                                \
        memcpy(arrays->name, batch->arrays.name, (size_t)(count[per] * batch->entry_bytes[DRV_ARRAY_##name]));
    DRV_ARRAYS(X)
#undef X
    drv_batch_leave(whole);
    return DRV_OK;
}
