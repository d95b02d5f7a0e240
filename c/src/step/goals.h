/* Which goal does an agent have, and does it observe it? */
#ifndef DRV_STEP_GOALS_H
#define DRV_STEP_GOALS_H

#include "platform/isa.h"
#include "step/state.h"

/* Sets the goal of every agent at the start of a trial: its own, or one of the scene's candidates. */
DRV_STEP_API void drv_goals_begin(drv_world *world);

/* Whether an agent observes its goal where the config hides goals. Not inlined: its caller would be slower where it is
 * not called. */
DRV_STEP_API _Bool drv_goals_is_revealed(const drv_world *world, int32_t agent) __attribute__((noinline));

/* Whether an agent observes its goal. */
static inline _Bool drv_goals_is_observed(const drv_world *world, int32_t agent) {
    return world->config->goal_reveal_s < 0.0f || drv_goals_is_revealed(world, agent);
}

#endif
