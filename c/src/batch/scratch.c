/* Which scratch memory does a worker use? */
#include "batch/batch.h"
#include "math/simd_pad.h"
#include "platform/arena.h"
#include "view/layout.h"

/* Lays out the scratch arrays of one worker in its block; returns the bytes they need. NULL as `base`: returns the
 * bytes only. */
static uint64_t carve(const drv_batch *batch, uint8_t *base, drv_scratch *out) {
    /* the counts that array sizes depend on: candidates of a search, and slots of a set */
    const int32_t vehicles = batch->sizes.vehicles, controls = batch->sizes.traffic_controls;
    const int64_t blocks = vehicles > controls ? vehicles : controls;
    int64_t items = blocks;
    for (int32_t i = 0; i < batch->scene_count; i++)
        if (batch->scenes[i]->segments.count > items) items = batch->scenes[i]->segments.count;
    drv_observation_set sets[DRV_SET_COUNT];
    drv_observation_sets(&batch->config, sets, DRV_SET_COUNT);
    int32_t slots = 0;
    for (int32_t i = 0; i < DRV_SET_COUNT; i++)
        if (sets[i].slots > slots) slots = sets[i].slots;
    /* the arrays, each from a cache line on */
    uint64_t used = 0;
#define CUT(member, bytes)                             \
    out->member = base ? (void *)(base + used) : NULL; \
    used += drv_round_up_to_line((uint64_t)(bytes))
    CUT(world, batch->world_bytes);
    CUT(distance2, (items + 2 * DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(buffer, (items + 2 * DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(segment, (items + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(first, (items + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(block_first, blocks * (int64_t)sizeof(int32_t));
    CUT(kept, (slots + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(goal_record, (int64_t)batch->config.goals * GOAL_COUNT * (int64_t)sizeof(float));
    CUT(vehicle_record, (int64_t)batch->sizes.vehicles * PARTNER_COUNT * (int64_t)sizeof(float));
    CUT(list, drv_road_list_bytes(drv_road_cache_items(&batch->config)));
    CUT(observation, batch->needs.observation_size * (int64_t)sizeof(float));
    CUT(on_map.vehicle, (batch->sizes.vehicles + DRV_SIMD_PAD) * (int64_t)sizeof(int32_t));
    CUT(on_map.index, batch->sizes.agents * (int64_t)sizeof(int32_t));
    CUT(on_map.x_m, (batch->sizes.vehicles + DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(on_map.y_m, (batch->sizes.vehicles + DRV_SIMD_PAD) * (int64_t)sizeof(float));
    CUT(on_map.z_m, batch->sizes.height_vehicles * (int64_t)sizeof(float));
    CUT(near, batch->sizes.rule_based > 0 ? batch->sizes.vehicles * (int64_t)sizeof(int32_t) : 0);
    CUT(claims, batch->sizes.rule_based * DRV_CLAIMS * (int64_t)sizeof(drv_claim));
    CUT(stop_m, batch->sizes.controlled_vehicles * (int64_t)sizeof(float));
    CUT(chosen, batch->sizes.agents);
    CUT(sub_cell, batch->sizes.agents * (int64_t)sizeof(int32_t));
#undef CUT
    return used;
}

bool drv_batch_make_scratch(drv_batch *batch) {
    drv_scratch measured;
    const uint64_t bytes = carve(batch, NULL, &measured);
    const int32_t vehicles = batch->sizes.vehicles, controls = batch->sizes.traffic_controls;
    const int32_t workers = drv_pool_workers(batch->pool);
    batch->workers = drv_arena_acquire(batch->arena, (uint64_t)workers * sizeof *batch->workers);
    uint8_t *next = drv_arena_acquire(batch->arena, (uint64_t)workers * bytes);
    if (!batch->workers || !next) return false;
    for (int32_t i = 0; i < workers; i++, next += bytes) {
        drv_scratch *scratch = &batch->workers[i].scratch;
        carve(batch, next, scratch);
        for (int32_t block = 0; block < vehicles || block < controls; block++)
            scratch->block_first[block] = block * batch->kernels->width;
    }
    return true;
}
