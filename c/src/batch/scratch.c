/* Which scratch memory does a worker use? */
#include "batch/batch.h"
#include "math/simd_pad.h"
#include "platform/arena.h"
#include "view/layout.h"

/* Lays the scratch arrays of one worker out in its block, or measures it where `base` is NULL; returns its bytes. */
static uint64_t lay_out(const drv_batch *batch, uint8_t *base, drv_scratch *out) {
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
    const int32_t forecasts = batch->sizes.rule_based > 0 ? vehicles + DRV_SIMD_PAD : 0;

    /* the arrays */
    drv_block block = {base, 0};
    out->world = drv_block_carve(&block, 1, batch->world_bytes);
    DRV_CARVE(&block, out->distance2, items + 2 * DRV_SIMD_PAD);
    DRV_CARVE(&block, out->buffer, items + 2 * DRV_SIMD_PAD);
    DRV_CARVE(&block, out->segment, items + DRV_SIMD_PAD);
    DRV_CARVE(&block, out->first, items + DRV_SIMD_PAD);
    DRV_CARVE(&block, out->block_first, blocks);
    DRV_CARVE(&block, out->kept, slots + DRV_SIMD_PAD);
    DRV_CARVE(&block, out->goal_record, batch->config.goals * GOAL_COUNT);
    DRV_CARVE(&block, out->route_record, batch->config.route * ROUTE_COUNT);
    DRV_CARVE(&block, out->vehicle_record, vehicles * PARTNER_COUNT);
    out->list = drv_block_carve(&block, 1, drv_road_list_bytes(drv_road_cache_items(&batch->config)));
    DRV_CARVE(&block, out->observation, batch->needs.observation_size);
    DRV_CARVE(&block, out->on_map.vehicle, vehicles + DRV_SIMD_PAD);
    DRV_CARVE(&block, out->on_map.index, batch->sizes.agents);
    DRV_CARVE(&block, out->on_map.x_m, vehicles + DRV_SIMD_PAD);
    DRV_CARVE(&block, out->on_map.y_m, vehicles + DRV_SIMD_PAD);
    DRV_CARVE(&block, out->on_map.z_m, batch->sizes.height_vehicles);
    DRV_CARVE(&block, out->near, batch->sizes.rule_based > 0 ? vehicles : 0);
    DRV_CARVE(&block, out->forecast.x_m, forecasts);
    DRV_CARVE(&block, out->forecast.y_m, forecasts);
    DRV_CARVE(&block, out->forecast.radius_m, forecasts);
    DRV_CARVE(&block, out->claims, batch->sizes.rule_based * DRV_CLAIMS);
    DRV_CARVE(&block, out->stop_m, batch->sizes.controlled_vehicles);
    DRV_CARVE(&block, out->chosen, batch->sizes.agents);
    DRV_CARVE(&block, out->sub_cell, batch->sizes.agents);
    return block.used;
}

bool drv_batch_make_scratch(drv_batch *batch) {
    drv_scratch measured;
    const uint64_t bytes = lay_out(batch, NULL, &measured);
    const int32_t vehicles = batch->sizes.vehicles, controls = batch->sizes.traffic_controls;
    const int32_t workers = drv_pool_workers(batch->pool);
    batch->workers = drv_arena_acquire(batch->arena, (uint64_t)workers * sizeof *batch->workers);
    uint8_t *next = drv_arena_acquire(batch->arena, (uint64_t)workers * bytes);
    if (!batch->workers || !next) return false;
    for (int32_t i = 0; i < workers; i++, next += bytes) {
        drv_scratch *scratch = &batch->workers[i].scratch;
        lay_out(batch, next, scratch);
        for (int32_t block = 0; block < vehicles || block < controls; block++)
            scratch->block_first[block] = block * batch->kernels->width;
    }
    return true;
}
