/* Which hidden values does the vehicle of an agent have, and what do they change? Drawn from a random stream of their
 * own at the start of a trial, and applied between the control that an action stands for and the dynamics. */
#include "step/hidden.h"

#include <math.h>
#include <string.h>

#include "math/geometry.h"
#include "math/random.h"
#include "view/hidden.h"

/* ---- draws ---- */

/* Returns 64 random bits for a purpose, the same for all agents and trials that share a value. */
static uint64_t hidden_bits(const drv_world *world, int32_t agent, uint32_t purpose) {
    const drv_config *config = world->config;
    const uint32_t trial = config->hidden_scope == DRV_HIDDEN_TRIAL ? (uint32_t)*world->trial : 0;
    const uint32_t entry = config->hidden_per == DRV_HIDDEN_PER_AGENT ? (uint32_t)agent : 0;
    const uint32_t index = trial * (DRV_OBJECT_LIMIT + 1) + entry; /* max_trials times this is below 2^32 */
    return drv_random_bits(*world->seed, *world->id, *world->episode, (drv_purpose)purpose, index);
}

/* Returns a parameter's value, drawn uniformly from its range. */
static float drawn_value(const drv_world *world, int32_t agent, int32_t parameter, drv_hidden_range range) {
    if (!drv_hidden_has_range(range)) return drv_hidden_neutral(world->config, parameter);
    const uint64_t bits = hidden_bits(world, agent, DRV_PURPOSE_HIDDEN + (uint32_t)parameter);
    if (parameter == DRV_HIDDEN_ACTION_DELAY) {
        const int32_t low = (int32_t)range.low, high = (int32_t)range.high;
        return (float)(low + (int32_t)drv_random_below(bits, (uint32_t)(high - low + 1)));
    }
    return drv_smaller(range.low + drv_random_share(bits) * (range.high - range.low), range.high);
}

void drv_hidden_begin(drv_world *world) {
    if (!world->sizes.has_hidden) return;
    const drv_hidden_ranges ranges = drv_hidden_ranges_of(world->config);
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        float *value = world->hidden + agent * DRV_HIDDEN_COUNT;
        for (int32_t i = 0; i < DRV_HIDDEN_COUNT; i++) value[i] = drawn_value(world, agent, i, ranges.of[i]);
        const float flip = drv_random_share(hidden_bits(world, agent, DRV_PURPOSE_HIDDEN + DRV_HIDDEN_COUNT));
        if (flip < world->config->hidden_steering_flip) value[DRV_HIDDEN_STEERING_GAIN] *= -1.0f;
        if (world->sizes.has_commanded) world->commanded_steering_rad[agent] = 0.0f;
    }
    memset(world->delayed_control, 0, (size_t)drv_delayed_controls(world->sizes) * sizeof *world->delayed_control);
}

void drv_hidden_place(drv_world *world, int32_t agent) {
    const int64_t queue = (int64_t)world->sizes.delay_steps * DRV_ACTION_DIMENSIONS;
    if (world->sizes.has_commanded) world->commanded_steering_rad[agent] = 0.0f;
    memset(world->delayed_control + agent * queue, 0, (size_t)queue * sizeof *world->delayed_control);
}

/* ---- effects ---- */

/* Exchanges a control for that of `delay` steps ago; 0 in the first steps of a trial. */
static void delay_control(drv_world *world, int32_t agent, int32_t delay, drv_motion_block *block, int32_t i) {
    const int32_t capacity = world->sizes.delay_steps, step = *world->clock_steps;
    if (capacity == 0) return;
    float *queue = world->delayed_control + (int64_t)agent * capacity * DRV_ACTION_DIMENSIONS;
    float *newest = queue + step % capacity * DRV_ACTION_DIMENSIONS;
    const float *due = queue + (step + capacity - delay) % capacity * DRV_ACTION_DIMENSIONS;
    for (int32_t k = 0; k < DRV_ACTION_DIMENSIONS; k++) {
        const float commanded = block->control[k][i];
        if (delay > 0) block->control[k][i] = due[k];
        newest[k] = commanded; /* after the read: at the longest delay both are the same place */
    }
}

void drv_hidden_apply(drv_world *world, int32_t agent, drv_motion_block *block, int32_t i) {
    const float *value = world->hidden + agent * DRV_HIDDEN_COUNT;
    const drv_config *config = world->config;
    const int32_t has = drv_hidden_parameters_of(config->dynamics);
    const bool steers = has >> DRV_HIDDEN_STEERING_GAIN & 1, turns_wheels = has >> DRV_HIDDEN_STEERING_OFFSET & 1;
    float *steering = &block->control[1][i];

    /* the wheel angle that is observed; a model without one has a curvature */
    if (steers)
        world->commanded_steering_rad[agent] =
            turns_wheels ? *steering : drv_arc_tangent(*steering * block->wheelbase_m[i]);

    /* the control that reaches the vehicle in this step, in its own units */
    delay_control(world, agent, (int32_t)value[DRV_HIDDEN_ACTION_DELAY], block, i);
    if (steers) *steering *= value[DRV_HIDDEN_STEERING_GAIN];
    if (turns_wheels) /* the wheels turn no farther than without the gain */
        *steering = drv_clip(*steering + value[DRV_HIDDEN_STEERING_OFFSET], -config->max_steering_rad,
                             config->max_steering_rad);
    if (has >> DRV_HIDDEN_THROTTLE_GAIN & 1) {
        const float acceleration_mps2 = block->control[0][i];
        block->control[0][i] *= value[acceleration_mps2 > 0.0f ? DRV_HIDDEN_THROTTLE_GAIN : DRV_HIDDEN_BRAKE_GAIN];
    }

    /* the vehicle itself */
    block->wheelbase_m[i] *= value[DRV_HIDDEN_WHEELBASE];
    block->friction[i] = value[DRV_HIDDEN_FRICTION];
}

/* ---- observations ---- */

void drv_hidden_reveal(const drv_world *world, int32_t agent, float *out) {
    const drv_hidden_ranges ranges = drv_hidden_ranges_of(world->config);
    const float *value = world->hidden + agent * DRV_HIDDEN_COUNT;
    for (int32_t i = 0; i < DRV_HIDDEN_COUNT; i++) {
        drv_hidden_range range = ranges.of[i];
        if (i == DRV_HIDDEN_STEERING_GAIN && world->config->hidden_steering_flip > 0.0f) {
            range.high = drv_hidden_has_range(range) ? range.high : 1.0f;
            range.low = -range.high;
        }
        const float span = range.high - range.low;
        out[i] = span > 0.0f ? drv_clip(2.0f * (value[i] - range.low) / span - 1.0f, -1.0f, 1.0f) : 0.0f;
    }
}
