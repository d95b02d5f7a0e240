/* Which agents are blind, or brake whatever their action is? The scheme of PufferDrive 3.
 *
 * Each episode draws, for each kind of disturbance, the probability that an agent can have it: uniformly from 0 to the
 * config's. For an agent that can, it begins in each step with trigger_probability and lasts for duration_s. Draws are
 * a function of seed, world, episode, step of the trial and agent, so all trials of an episode have the same. */
#include "step/disturbances.h"

#include "math/geometry.h"
#include "math/random.h"

static uint64_t key_of_draws(const drv_world *world, drv_purpose purpose, uint32_t index) {
    return drv_random_bits(*world->seed, *world->id, *world->episode, purpose, index);
}

/* Whether the agent can have a disturbance in this episode; `most` is the config's probability. */
static bool can_have(const drv_world *world, int32_t agent, drv_purpose purpose, float most) {
    const uint64_t key = key_of_draws(world, purpose, 0);
    const float probability = most * drv_random_share(drv_random_draw(key, 0));
    return drv_random_share(drv_random_draw(key, 1 + (uint32_t)agent)) < probability;
}

/* The number of coming steps in which a disturbance is on; `left` was that number before the step just taken. */
static int32_t steps_after(const drv_world *world, int32_t agent, drv_purpose purpose, float most, int32_t left) {
    const drv_config *config = world->config;
    if (left > 1) return left - 1;
    const uint64_t key = key_of_draws(world, purpose, 1 + (uint32_t)*world->clock_steps);
    const float share = drv_random_share(drv_random_draw(key, (uint32_t)agent));
    if (share >= config->disturbance_trigger_probability || !can_have(world, agent, purpose, most)) return 0;
    const int32_t steps = (int32_t)(config->disturbance_duration_s / world->scene->dt_s + 0.5f);
    return steps > 1 ? steps : 1;
}

void drv_disturbances_draw(drv_world *world, drv_scratch *scratch) {
    (void)scratch;
    const drv_config *config = world->config;
    for (int32_t agent = 0; agent < world->sizes.disturbed_agents; agent++) {
        world->blind_steps[agent] = steps_after(world, agent, DRV_PURPOSE_BLINDNESS,
                                                config->disturbance_partner_blindness, world->blind_steps[agent]);
        world->braking_steps[agent] = steps_after(world, agent, DRV_PURPOSE_BRAKING,
                                                  config->disturbance_phantom_braking, world->braking_steps[agent]);
    }
}

void drv_disturbances_begin(drv_world *world, drv_scratch *scratch) {
    for (int32_t agent = 0; agent < world->sizes.disturbed_agents; agent++)
        world->blind_steps[agent] = world->braking_steps[agent] = 0;
    drv_disturbances_draw(world, scratch);
}

void drv_disturbances_apply(const drv_world *world, int32_t agent, drv_motion_block *block, int32_t i) {
    if (world->braking_steps[agent] == 0) return;
    const float speed_mps = block->speed_mps[i], most_mps2 = world->config->max_acceleration_mps2;
    const drv_point wheels = drv_direction(block->steering_rad[i]);
    switch (world->config->dynamics) {
    case DRV_JERK:
        block->control[0][i] = speed_mps > 0.0f   ? -DRV_BRAKING_JERK_MPS3
                               : speed_mps < 0.0f ? DRV_BRAKING_JERK_MPS3
                                                  : 0.0f;
        block->control[1][i] = 0.0f;
        if (speed_mps == 0.0f) block->acceleration_mps2[i] = 0.0f; /* else the vehicle would speed up backwards */
        return;
    case DRV_INVERTIBLE_BICYCLE: block->control[1][i] = wheels.y / (wheels.x * block->wheelbase_m[i]); break;
    default: block->control[1][i] = block->steering_rad[i]; break;
    }
    block->control[0][i] = -drv_clip(speed_mps / world->scene->dt_s, -most_mps2, most_mps2);
}
