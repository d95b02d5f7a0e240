/* At which offset of a critic's observation is each feature?
 *
 * A critic is trained with what its agent must not observe. Its observation has the agent's goal, hidden or not, the
 * time left and the length of the route left; the agent's hidden values and weights of the reward, where they vary;
 * then, for each partner slot of the agent's own observation, the goal of the vehicle in it. The headings of goals are
 * there where a goal has to be reached with its heading. */
#ifndef DRV_CRITIC_H
#define DRV_CRITIC_H

#include <stdbool.h>

#include "drive.h"

/* X(symbol, name, unit, scale kind, lowest value, meaning) */
#define CRITIC_FEATURES(X)                                                                                          \
    X(CRITIC_GOAL_X, "critic/goal_x", "m", SCALE_POSITION, -1, "agent's goal, hidden or not, ahead of its centre")  \
    X(CRITIC_GOAL_Y, "critic/goal_y", "m", SCALE_POSITION, -1, "agent's goal, to the left of its centre")           \
    X(CRITIC_GOAL_DIRECTION_X, "critic/goal_direction_x", "1", SCALE_ONE, -1, "unit vector to that goal, ahead")    \
    X(CRITIC_GOAL_DIRECTION_Y, "critic/goal_direction_y", "1", SCALE_ONE, -1, "unit vector to that goal, left")     \
    X(CRITIC_GOAL_DISTANCE, "critic/goal_distance", "m", SCALE_DISTANCE, 0, "distance to that goal")                \
    X(CRITIC_TIME_LEFT, "critic/time_left", "trial_steps", SCALE_ONE, 0, \
      "share of the trial that is left; 0 if time_left is 'off'") \
    X(CRITIC_ROUTE_LEFT, "critic/route_left", "m", SCALE_DISTANCE, 0, \
      "distance to that goal along the lanes; 0 without a goal") \
    X(CRITIC_GOAL_HEADING_X, "critic/goal_heading_x", "1", SCALE_ONE, -1, \
      "unit vector of that goal's heading, ahead; 0 for any") \
    X(CRITIC_GOAL_HEADING_Y, "critic/goal_heading_y", "1", SCALE_ONE, -1, "unit vector of that goal's heading, left")

#define PARTNER_GOAL_FEATURES(X)                                                                          \
    X(PARTNER_GOAL_X, "partner_goals/x", "m", SCALE_POSITION, -1, "goal of the partner, ahead of the agent's centre") \
    X(PARTNER_GOAL_Y, "partner_goals/y", "m", SCALE_POSITION, -1, "goal of the partner, to the left")             \
    X(PARTNER_GOAL_EXISTS, "partner_goals/exists", "1", SCALE_ONE, 0, \
      "1 if the partner is an agent; others have no goal")                                                            \
    X(PARTNER_GOAL_HEADING_X, "partner_goals/heading_x", "1", SCALE_ONE, -1, \
      "unit vector of the goal's heading, ahead; 0 for any") \
    X(PARTNER_GOAL_HEADING_Y, "partner_goals/heading_y", "1", SCALE_ONE, -1, "unit vector of the goal's heading, left")

#define X(symbol, name, unit, scale, low, meaning) symbol,
enum { CRITIC_FEATURES(X) CRITIC_COUNT };
enum { PARTNER_GOAL_FEATURES(X) PARTNER_GOAL_COUNT };
#undef X

/* Where the parts of a critic's observation begin, and how long a partner's goal is, in floats. The headings, which
 * are the last features of both lists, are absent where the config has no goal_heading_tolerance_rad. */
typedef struct drv_critic_offsets {
    int32_t hidden, weights, partner_goals, size;
    int32_t partner_goal_size;
    bool has_headings;
} drv_critic_offsets;

drv_critic_offsets drv_critic_offsets_of(const drv_config *config);

int32_t drv_critic_size(const drv_config *config); /* floats per agent */

#endif
