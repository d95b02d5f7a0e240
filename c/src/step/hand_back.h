/* Which rule-based vehicles are handed back to their logs? A vehicle replays its log in each step that begins with the
 * vehicle at its log and nothing in its way that may be elsewhere than in the log; in all others it follows its
 * rules. */
#ifndef DRV_HAND_BACK_H
#define DRV_HAND_BACK_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/state.h"

/* Whether the config lets vehicles be handed back. */
static inline bool drv_hands_back(const drv_world *world) { return world->config->idm_handback_m > 0.0f; }

/* Whether a rule-based vehicle follows its log in this step. */
static inline bool drv_is_handed_back(const drv_world *world, int32_t vehicle) {
    return drv_hands_back(world) && world->controller[vehicle] == DRV_CONTROLLER_LOG;
}

/* Sets the controller of each rule-based vehicle for the step that begins, from the poses and speeds of all vehicles
 * before it: DRV_CONTROLLER_LOG or DRV_CONTROLLER_RULE. Needs scratch->on_map. */
DRV_STEP_API void drv_hand_back_decide(drv_world *world, drv_scratch *scratch);

/* Puts a vehicle that is handed back where its log has it at the end of the step. */
DRV_STEP_API void drv_hand_back_move(drv_world *world, int32_t path);

#endif
