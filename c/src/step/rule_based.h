/* How do rule-based vehicles move? Along their paths, by the intelligent driver model. */
#ifndef DRV_RULE_BASED_H
#define DRV_RULE_BASED_H

#include <stdbool.h>

#include "platform/isa.h"
#include "step/idm.h"
#include "step/path_place.h"
#include "step/state.h"

/* A rule-based vehicle that is slower stands. */
static const float drv_rests_below_mps = 0.3f;

/* Whether a rule-based vehicle follows its path: it has one, has entered and has not left. */
static inline bool drv_follows_path(const drv_world *world, int32_t vehicle) {
    return world->present[vehicle] && world->scene->controller[vehicle] == DRV_CONTROLLER_RULE;
}

/* How the rule-based vehicles of a world follow others. */
static inline drv_idm drv_rule_idm(const drv_world *world) {
    const drv_config *config = world->config;
    return (drv_idm){config->idm_min_gap_m, config->idm_headway_s, config->idm_acceleration_mps2,
                     config->idm_braking_mps2, config->idm_hardest_braking_mps2};
}

/* The speed at which a rule-based vehicle would drive on a free road, at an arc length of its path. */
static inline float drv_desired_mps(const drv_world *world, int32_t path, float path_m) {
    return world->config->idm_speed_factor * drv_path_speed(&world->scene->paths, path, path_m);
}

/* Puts the rule-based vehicles of a scene at the start of their paths; those whose log begins later are not on the map.
 * Clears what a scene with more of them left behind. */
DRV_STEP_API void drv_rule_based_begin(drv_world *world);

/* Writes the acceleration of each for the step that begins, from the poses and speeds of all vehicles before it. */
DRV_STEP_API void drv_rule_based_plan(drv_world *world, drv_scratch *scratch);

/* Moves each by its acceleration, or along its log if it is handed back. One that is at the end of its path leaves the
 * map; one whose log begins by now enters it as soon as its place is free. */
DRV_STEP_API void drv_rule_based_move(drv_world *world);

#endif
