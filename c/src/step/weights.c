/* Which weights do the reward terms of an agent have, where they are drawn? From a random stream of their own, once per
 * episode, so that all of its trials have the same. */
#include "step/weights.h"

#include "math/geometry.h"
#include "math/random.h"
#include "view/weights.h"

/* Uniform in the range, and not above it where the sum is rounded up. */
static float drawn_weight(const drv_world *world, int32_t agent, int32_t term, float low, float high) {
    const uint32_t index = (uint32_t)term * (DRV_OBJECT_LIMIT + 1) + (uint32_t)agent;
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, DRV_PURPOSE_WEIGHTS, index);
    return drv_smaller(low + drv_random_share(bits) * (high - low), high);
}

void drv_weights_draw(drv_world *world) {
    if (!world->sizes.has_weights) return;
    const drv_weights weights = drv_weights_of(world->config);
    for (int32_t agent = 0; agent < world->sizes.agents; agent++)
        for (int32_t term = 0; term < DRV_TERM_COUNT; term++) {
            const bool draws = world->config->draw_reward_weights && drv_weight_has_range(&weights, term);
            world->reward_weight[agent * DRV_TERM_COUNT + term] =
                draws ? drawn_weight(world, agent, term, weights.low[term], weights.high[term]) : weights.weight[term];
        }
}

void drv_weights_observe(const drv_world *world, int32_t agent, float *out) {
    const drv_weights weights = drv_weights_of(world->config);
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++) {
        if (!drv_weight_has_range(&weights, term)) continue;
        const float low = weights.low[term], width = weights.high[term] - low;
        const float above = world->reward_weight[agent * DRV_TERM_COUNT + term] - low;
        *out++ = width > 0.0f ? drv_clip(2.0f * above / width - 1.0f, -1.0f, 1.0f) : 0.0f;
    }
}
