/* Which trials have finished? The records that each world holds until the caller takes them. */
#include <string.h>

#include "batch/batch.h"

/* The number of records of one finished trial: one per agent of its scene. */
static int32_t agents_in(const drv_world *world, int32_t index) {
    return world->scenes[world->record_scene[index]]->num_agents;
}

static int64_t records_in(const drv_world *world) {
    int64_t count = 0;
    for (int32_t index = 0; index < *world->record_count; index++) count += agents_in(world, index);
    return count;
}

static int64_t copy_records(const drv_world *world, int32_t number, drv_trial_record *records, float *values) {
    const int64_t metrics = world->sizes.metrics;
    int64_t copied = 0;
    for (int32_t index = 0; index < *world->record_count; index++) {
        const int64_t first = (int64_t)index * world->sizes.agents;
        const int32_t agents = agents_in(world, index);
        for (int32_t agent = 0; agent < agents; agent++, copied++)
            records[copied] = (drv_trial_record){.episode = world->record_episode[index],
                                                 .world = number,
                                                 .scene = world->record_scene[index],
                                                 .trial = world->record_trial[index],
                                                 .agent = number * world->sizes.agents + agent,
                                                 .outcome = world->record_outcome[first + agent],
                                                 .coplayer = world->sizes.coplayer_agents > 0 &&
                                                             world->record_coplayer[first + agent]};
        memcpy(values + (copied - agents) * metrics, world->record_values + first * metrics,
               (size_t)(agents * metrics) * sizeof *values);
    }
    return copied;
}

drv_status drv_batch_trial_records(drv_batch *batch, int32_t clear, int64_t capacity, drv_trial_record *records,
                                   float *values, int64_t *copied, int64_t *lost, char *message) {
    drv_part *whole = drv_batch_enter(batch, DRV_WHOLE_BATCH, message);
    if (!whole) return DRV_ERROR_CALL;
    *copied = *lost = 0;
    for (int32_t number = 0; batch->sizes.record_capacity > 0 && number < batch->num_worlds; number++) {
        const drv_world world = drv_batch_world(batch, number);
        *lost += *world.records_lost;
        if (clear) *world.records_lost = 0;
        if (*copied + records_in(&world) > capacity) continue; /* held until the next call */
        *copied += copy_records(&world, number, records + *copied, values + *copied * batch->sizes.metrics);
        if (clear) *world.record_count = 0;
    }
    drv_batch_leave(whole);
    return DRV_OK;
}
