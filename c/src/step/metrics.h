/* Which metrics does a trial of an agent have?
 *
 * X(SYMBOL, "name", shown, value). The metric exists where `shown`, an expression in the `config`, is true; only then
 * is `value` evaluated, an expression in variables of metrics.c: `world`, `agent`, and, of the agent's trial, `steps`,
 * `driven_s` and the sum `reward`. One metric per reward term is added to these. */
#ifndef DRV_METRICS_H
#define DRV_METRICS_H

#include <stdbool.h>

#include "drive.h"

#define DRV_METRICS(X)                                                                     \
    X(SCORE, "score", true, world->scored[agent])                                          \
    X(GOAL, "goal", true, world->had_goal[agent])                                          \
    X(GOALS, "goals", config->on_goal >= DRV_NEXT, world->goals_reached[agent])            \
    X(COLLISION, "collision", true, world->had_collision[agent])                           \
    X(OFFROAD, "offroad", true, world->had_offroad[agent])                                 \
    X(RED_LIGHT, "red_light", config->traffic_controls, world->had_red_light[agent])       \
    X(STOP_SIGN, "stop_sign", config->traffic_controls, world->had_stop_sign[agent])       \
    X(TIMEOUT, "timeout", true, world->outcome[agent] == DRV_OUTCOME_TIMEOUT)              \
    X(TRIAL_LENGTH, "trial_length", true, world->steps_driven[agent])                      \
    X(DISTANCE, "distance_m", true, world->distance_m[agent])                              \
    X(MEAN_SPEED, "mean_speed_mps", true, world->distance_m[agent] / driven_s)             \
    X(DRIVING_TIME, "driving_time_s", config->detailed_metrics, driven_s)                  \
    X(COVERED, "progress", config->detailed_metrics,                                       \
      drv_details_progress(world, agent, drv_details_to_goal(world, agent)))               \
    X(MAX_COVERED, "max_progress", config->detailed_metrics,                               \
      drv_details_progress(world, agent, world->min_to_goal_m[agent]))                     \
    X(WRONG_WAY, "wrong_way_share", config->detailed_metrics,                              \
      (float)world->wrong_way_steps[agent] / steps)                                        \
    X(LANE_OFFSET, "mean_lane_offset_m", config->detailed_metrics,                         \
      world->lane_steps[agent] > 0 ? world->lane_offset_sum_m[agent] / (float)world->lane_steps[agent] : 0.0f) \
    X(OVER_SPEED, "over_speed_share", config->detailed_metrics,                            \
      (float)world->over_speed_steps[agent] / steps)                                       \
    X(GAP, "min_gap_m", config->detailed_metrics, world->min_gap_m[agent])                 \
    X(TIME_TO_COLLISION, "min_time_to_collision_s", config->detailed_metrics, world->min_time_to_collision_s[agent]) \
    X(JERK, "max_jerk_mps3", config->detailed_metrics, world->max_jerk_mps3[agent])        \
    X(HARD_BRAKINGS, "hard_brakings", config->detailed_metrics, world->hard_brakings[agent]) \
    X(INFRACTIONS, "infractions", config->detailed_metrics, world->infractions[agent])     \
    X(FAULT_BY_BEARING, "at_fault_collision", config->detailed_metrics, world->had_fault_by_bearing[agent]) \
    X(FAULT_BY_BUMPER, "at_fault_collision_nuplan", config->detailed_metrics, world->had_fault_by_bumper[agent]) \
    X(VALID_ACTIONS, "valid_action_share", config->action_mask,                            \
      world->valid_action_sum[agent] / steps)                                              \
    X(REWARD, "reward", true, reward)

/* METRIC_LIMIT is the largest number of metrics of a trial. */
enum {
#define X(symbol, name, shown, value) METRIC_##symbol,
    DRV_METRICS(X)
#undef X
    METRIC_COUNT,
    METRIC_LIMIT = METRIC_COUNT + DRV_TERM_COUNT
};

_Static_assert((int)METRIC_SCORE == (int)DRV_METRIC_SCORE, "the public header names the first metric");

#endif
