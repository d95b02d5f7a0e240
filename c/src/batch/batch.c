/* What does a call do? Resets and steps; arguments are checked before anything changes. */
#include "batch/batch.h"

#include <string.h>

#include "platform/error.h"

/* World `index` of a part. */
static drv_world world_in(const drv_part *part, int32_t index) {
    return drv_batch_world(part->batch, part->first_world + index);
}

static bool was_reset(const drv_part *part) {
    /* the same array of the next world is world_bytes further */
    const uint8_t *episode = (const uint8_t *)world_in(part, 0).episode;
    for (int32_t i = 0; i < part->num_worlds; i++, episode += part->batch->world_bytes)
        if (*(const int64_t *)(const void *)episode < 0) return false;
    return true;
}

/* ---- reset ---- */

static bool is_chosen(const drv_part *part, int32_t index) { return !part->chosen || part->chosen[index]; }

static drv_status check_reset(const drv_part *part, char *message) {
    const drv_batch *batch = part->batch;
    if (!batch->arrays.observations)
        return drv_fail(message, DRV_ERROR_CALL, "reset was called before arrays were bound");
    for (int32_t i = 0; i < part->num_worlds; i++) {
        const drv_world world = world_in(part, i);
        if (!is_chosen(part, i) && *world.episode < 0)
            return drv_fail(message, DRV_ERROR_CALL, "the first reset leaves out world %d; it must open every world",
                            i);
        if (!is_chosen(part, i) || !part->ages) continue;
        const uint64_t seed = part->seeds ? part->seeds[i] : *world.seed;
        const int64_t episode = part->seeds ? 0 : *world.episode + 1;
        const drv_scene *scene = batch->scenes[batch->kernels->next_scene(&world, seed, episode)];
        if (part->ages[i] < 0 || part->ages[i] >= scene->trial_steps)
            return drv_fail(message, DRV_ERROR_CALL, "initial_ages of world %d is %d; it must be 0 to %d", i,
                            part->ages[i], scene->trial_steps - 1);
    }
    return DRV_OK;
}

static void reset_world(void *context, int32_t index, int32_t worker) {
    const drv_part *part = context;
    const drv_batch *batch = part->batch;
    if (!is_chosen(part, index)) return;
    drv_world world = world_in(part, index);
    drv_scratch *scratch = &batch->workers[worker].scratch;
    if (part->seeds) {
        *world.seed = part->seeds[index];
        *world.episode = 0;
    } else {
        ++*world.episode;
    }
    batch->kernels->open_episode(&world, scratch, part->ages ? part->ages[index] : 0);
    batch->kernels->observe_world(&world, scratch);
}

drv_status drv_batch_reset(drv_batch *batch, int32_t index, const uint64_t *seeds, const uint8_t *worlds,
                           const int32_t *ages, char *message) {
    drv_part *part = drv_batch_enter(batch, index, message);
    if (!part) return DRV_ERROR_CALL;
    part->seeds = seeds;
    part->chosen = worlds;
    part->ages = ages;
    const drv_status status = check_reset(part, message);
    if (status == DRV_OK) drv_pool_run(batch->pool, part->number, reset_world, part, part->num_worlds);
    drv_batch_leave(part);
    return status;
}

/* ---- step ---- */

static void step_world(void *context, int32_t index, int32_t worker) {
    const drv_part *part = context;
    const drv_batch *batch = part->batch;
    drv_worker *own = &batch->workers[worker];
    drv_world world = world_in(part, index);
    batch->kernels->step_world(&world, &own->scratch, batch->times_phases ? own->phase_ns : NULL);
}

static drv_status check_can_step(const drv_part *part, char *message) {
    const drv_batch *batch = part->batch;
    if (!batch->arrays.observations)
        return drv_fail(message, DRV_ERROR_CALL, "step was called before arrays were bound");
    if (!was_reset(part)) return drv_fail(message, DRV_ERROR_CALL, "step was called before reset; call reset first");
    for (int32_t i = 0; batch->config.restart == DRV_RESTART_CALLER && i < part->num_worlds; i++)
        if (*world_in(part, i).pending == DRV_OPENS_EPISODE)
            return drv_fail(message, DRV_ERROR_CALL,
                            "the episode of world %d has ended and restart is \"caller\"; reset the world before the "
                            "next step", i);
    for (int32_t i = 0; batch->sizes.own_reward_agents > 0 && i < part->num_worlds; i++)
        if (*world_in(part, i).reward_is_due)
            return drv_fail(message, DRV_ERROR_CALL,
                            "the last step of world %d has no reward, since the reward function raised an error or "
                            "returned no valid rewards; call reset before the next step", i);
    return DRV_OK;
}

static drv_status check_actions(const drv_part *part, char *message) {
    const drv_batch *batch = part->batch;
    const drv_actions actions = drv_batch_actions(batch, part->first_world);
    const int64_t agents = (int64_t)part->num_worlds * batch->sizes.agents;
    if (batch->kernels->actions_in_range(actions, &batch->action_space, agents)) return DRV_OK;
    drv_status status = DRV_OK;
    /* Agents that wait may have any action: check the others, world by world. */
    for (int32_t i = 0; status == DRV_OK && i < part->num_worlds; i++) {
        const drv_world world = world_in(part, i);
        status = batch->kernels->check_actions(&world, i, message);
    }
    return status;
}

/* Copies the caller's actions, the bound ones where `actions` is NULL, and checks the copy, so that later writes of the
 * caller cannot reach the step. Actions from elsewhere are then stored in the bound array. */
static drv_status copy_actions(const drv_part *part, const void *actions, char *message) {
    const drv_batch *batch = part->batch;
    const drv_actions copied = drv_batch_actions(batch, part->first_world);
    void *copy = copied.bin ? (void *)copied.bin : (void *)copied.share;
    const size_t world_bytes = (size_t)batch->sizes.agents * (size_t)batch->entry_bytes[DRV_ARRAY_actions];
    const size_t bytes = (size_t)part->num_worlds * world_bytes;
    uint8_t *bound = (uint8_t *)batch->arrays.actions + (size_t)part->first_world * world_bytes;
    memcpy(copy, actions ? actions : bound, bytes);
    const drv_status status = check_actions(part, message);
    if (status == DRV_OK && actions) memcpy(bound, copy, bytes);
    return status;
}

/* Enters a part and copies its actions. NULL and an error status, with nothing changed, if the step may not run. */
static drv_part *enter_step(drv_batch *batch, int32_t index, const void *actions, drv_status *status, char *message) {
    drv_part *part = drv_batch_enter(batch, index, message);
    *status = part ? check_can_step(part, message) : DRV_ERROR_CALL;
    if (*status == DRV_OK) *status = copy_actions(part, actions, message);
    if (*status == DRV_OK) return part;
    if (part) drv_batch_leave(part);
    return NULL;
}

drv_status drv_batch_step(drv_batch *batch, int32_t index, const void *actions, char *message) {
    drv_status status;
    drv_part *part = enter_step(batch, index, actions, &status, message);
    if (!part) return status;
    drv_pool_run(batch->pool, part->number, step_world, part, part->num_worlds);
    drv_batch_leave(part);
    return DRV_OK;
}

drv_status drv_batch_step_async(drv_batch *batch, int32_t index, const void *actions, char *message) {
    drv_status status;
    drv_part *part = enter_step(batch, index, actions, &status, message);
    if (!part) return status;
    drv_pool_begin(batch->pool, part->number, step_world, part, part->num_worlds);
    drv_batch_leave_in_flight(part);
    return DRV_OK;
}

drv_status drv_batch_wait(drv_batch *batch, int32_t index, char *message) {
    drv_part *part = drv_batch_enter_flight(batch, index, message);
    if (!part) return DRV_ERROR_CALL;
    drv_pool_end(batch->pool, part->number);
    drv_batch_leave(part);
    return DRV_OK;
}

/* ---- rewards of the caller ---- */

static drv_status check_rewards(const drv_part *part, const float *rewards, char *message) {
    const drv_batch *batch = part->batch;
    if (batch->sizes.own_reward_agents == 0)
        return drv_fail(message, DRV_ERROR_CALL, "the batch was made with own_reward 0; it must be 1 to reward steps");
    const int32_t agents = batch->sizes.agents;
    for (int32_t i = 0; i < part->num_worlds; i++) {
        const drv_world world = world_in(part, i);
        for (int32_t agent = 0; *world.reward_is_due && agent < agents; agent++) {
            const float found = rewards[i * agents + agent];
            const bool is_in_range = found >= -(float)DRV_REWARD_LIMIT && found <= (float)DRV_REWARD_LIMIT;
            if (!world.out.invalid_step[agent] && !is_in_range)
                return drv_fail(message, DRV_ERROR_CALL, "the reward of agent %d is %g; it must be from %d to %d",
                                i * agents + agent, (double)found, -DRV_REWARD_LIMIT, DRV_REWARD_LIMIT);
        }
    }
    return DRV_OK;
}

static void reward_world(void *context, int32_t index, int32_t worker) {
    const drv_part *part = context;
    const drv_batch *batch = part->batch;
    drv_world world = world_in(part, index);
    batch->kernels->reward_replace(&world, part->rewards + index * batch->sizes.agents,
                                   &batch->workers[worker].scratch);
}

drv_status drv_batch_reward(drv_batch *batch, int32_t index, const float *rewards, char *message) {
    drv_part *part = drv_batch_enter(batch, index, message);
    if (!part) return DRV_ERROR_CALL;
    part->rewards = rewards;
    const drv_status status = check_rewards(part, rewards, message);
    if (status == DRV_OK) drv_pool_run(batch->pool, part->number, reward_world, part, part->num_worlds);
    drv_batch_leave(part);
    return status;
}

/* ---- restart observations ---- */

/* Writes the first observations of the world's next trial, by a restart in a copy of its state. */
static void observe_restart(void *context, int32_t index, int32_t worker) {
    const drv_part *part = context;
    const drv_batch *batch = part->batch;
    drv_scratch *scratch = &batch->workers[worker].scratch;
    const drv_world world = world_in(part, index);

    /* clear the world's part of the output */
    const bool halves = batch->config.observation_type == DRV_FLOAT16;
    const int64_t item_bytes = (int64_t)(halves ? sizeof(uint16_t) : sizeof(float));
    const int64_t world_bytes = (int64_t)batch->sizes.agents * batch->needs.observation_size * item_bytes;
    uint8_t *out = part->restart_out + index * world_bytes;
    memset(out, 0, (size_t)world_bytes);
    if (*world.trial + 1 == batch->config.max_trials) return;

    /* restart the copy and write the observations of the agents that wait */
    const int32_t number = part->first_world + index;
    memcpy(scratch->world, drv_batch_world_block(batch, number), (size_t)batch->world_bytes);
    drv_world copy = drv_batch_world_in(batch, number, scratch->world);
    batch->kernels->rewind(&copy, scratch);
    for (int32_t agent = 0; agent < world.scene->num_agents; agent++)
        scratch->chosen[agent] = world.status[agent] != DRV_DRIVING || *world.pending == DRV_OPENS_TRIAL;
    batch->kernels->observe_agents(&copy, scratch->chosen, scratch, halves ? DRV_FLOAT16 : DRV_FLOAT32, out);
}

drv_status drv_batch_restart_observations(drv_batch *batch, int32_t index, void *out, char *message) {
    drv_part *part = drv_batch_enter(batch, index, message);
    if (!part) return DRV_ERROR_CALL;
    drv_status status = DRV_OK;
    if (!was_reset(part)) {
        status = drv_fail(message, DRV_ERROR_CALL, "restart_observations was called before reset; call reset first");
    } else {
        part->restart_out = out;
        drv_pool_run(batch->pool, part->number, observe_restart, part, part->num_worlds);
    }
    drv_batch_leave(part);
    return status;
}
