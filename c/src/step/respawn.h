/* Which start of the scene does an agent have, and does it wait for another one? */
#ifndef DRV_RESPAWN_H
#define DRV_RESPAWN_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Gives every agent its own start, at the start of a trial. */
DRV_STEP_API void drv_respawn_begin(drv_world *world);

/* The agent whose start, goal and route in the scene an agent has: itself, until it respawns. */
static inline int32_t drv_start_of(const drv_world *world, int32_t agent) {
    return world->sizes.respawn_agents > 0 ? world->start_of[agent] : agent;
}

/* Whether an agent has reached a goal and not respawned since. Needs on_goal DRV_RESPAWN. */
static inline bool drv_awaits_respawn(const drv_world *world, int32_t agent) {
    return world->goals_reached[agent] > world->respawns[agent];
}

#endif
