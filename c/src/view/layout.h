/* At which offset of an observation is each feature, and how is it scaled?
 *
 * An observation begins with a head: the agent's own state, its trial features and, where a config has them, its hidden
 * values and its weights of the reward. Sets follow, such as the nearest vehicles and the nearest road segments. The
 * lists below, DRV_HIDDEN and DRV_REWARD_TERMS are the only definition of the layout: the core writes by their symbols,
 * and drv_observation_layout and drv_observation_sets report them. */
#ifndef DRV_LAYOUT_H
#define DRV_LAYOUT_H

#include <stdbool.h>

#include "drive.h"

/* Quantities that share a scale; drv_layout_scale has the numbers. */
typedef enum drv_scale {
    SCALE_ONE,
    SCALE_SPEED,
    SCALE_LENGTH,
    SCALE_WIDTH,
    SCALE_STEERING,
    SCALE_ACCELERATION,
    SCALE_YAW_RATE,
    SCALE_POSITION,
    SCALE_DISTANCE,
    SCALE_TRIAL,
    SCALE_REWARD,
    SCALE_OBJECT_KIND,
    SCALE_HALF_SEGMENT,
    SCALE_LANE_WIDTH,
    SCALE_ROAD_KIND,
    SCALE_CONTROL_KIND,
    SCALE_GOALS
} drv_scale;

/* X(symbol, name, unit, scale kind, lowest value, meaning) */
#define EGO_FEATURES(X)                                                                                    \
    X(EGO_PRESENT, "ego/present", "1", SCALE_ONE, 0, "1 while the agent is on the map")                      \
    X(EGO_SPEED, "ego/speed", "m/s", SCALE_SPEED, -1, "own speed along the heading")                       \
    X(EGO_LENGTH, "ego/length", "m", SCALE_LENGTH, 0, "own length")                                        \
    X(EGO_WIDTH, "ego/width", "m", SCALE_WIDTH, 0, "own width")                                            \
    X(EGO_STEERING, "ego/steering", "rad", SCALE_STEERING, -1,                                      \
      "front wheel angle in the last step; the commanded one under hidden variation")                        \
    X(EGO_ACCELERATION, "ego/acceleration", "m/s2", SCALE_ACCELERATION, -1,                                \
      "acceleration in the last step; 0 once the agent is stopped")                                          \
    X(EGO_YAW_RATE, "ego/yaw_rate", "rad/s", SCALE_YAW_RATE, -1,                                           \
      "rate of turn in the last step; 0 once the agent is stopped")                                          \
    X(EGO_GOAL_X, "ego/goal_x", "m", SCALE_POSITION, -1, "goal, ahead of the centre")                      \
    X(EGO_GOAL_Y, "ego/goal_y", "m", SCALE_POSITION, -1, "goal, to the left of the centre")                \
    X(EGO_GOAL_DIRECTION_X, "ego/goal_direction_x", "1", SCALE_ONE, -1, "unit vector to the goal, ahead")  \
    X(EGO_GOAL_DIRECTION_Y, "ego/goal_direction_y", "1", SCALE_ONE, -1, "unit vector to the goal, left")   \
    X(EGO_GOAL_DISTANCE, "ego/goal_distance", "m", SCALE_DISTANCE, 0, "distance to the goal")              \
    X(EGO_IN_CONTACT, "ego/in_contact", "1", SCALE_ONE, 0, "1 while the box overlaps a vehicle's")         \
    X(EGO_ON_ROAD_EDGE, "ego/on_road_edge", "1", SCALE_ONE, 0, "1 while the box overlaps a road edge")            \
    X(EGO_TIME_LEFT, "ego/time_left", "trial_steps", SCALE_ONE, 0, \
      "share of the trial that is left; 0 unless time_left is 'actor'")

#define TRIAL_FEATURES(X)                                                                                  \
    X(TRIAL_INDEX, "trial/index", "trials", SCALE_TRIAL, 0, "index of the trial, from 0")                  \
    X(TRIAL_REWARD, "trial/reward", "1", SCALE_REWARD, -1, "reward of the last acting step of the episode") \
    X(TRIAL_OUTCOME_NONE, "trial/outcome_none", "1", SCALE_ONE, 0, "1 if there was no trial before")       \
    X(TRIAL_OUTCOME_GOAL, "trial/outcome_goal", "1", SCALE_ONE, 0, "1 if the previous trial ended at the goal") \
    X(TRIAL_OUTCOME_COLLISION, "trial/outcome_collision", "1", SCALE_ONE, 0, "1 if it ended in a collision") \
    X(TRIAL_OUTCOME_OFFROAD, "trial/outcome_offroad", "1", SCALE_ONE, 0, "1 if it ended off the road")     \
    X(TRIAL_OUTCOME_TIMEOUT, "trial/outcome_timeout", "1", SCALE_ONE, 0, "1 if it timed out")               \
    X(TRIAL_OUTCOME_OTHER, "trial/outcome_other", "1", SCALE_ONE, 0, "1 if a red light or stop sign ended it") \
    X(TRIAL_STEPS_SHARE, "trial/steps_share", "trial_steps", SCALE_ONE, 0, \
      "share of its steps that the agent drove; 0 if steps_share is off")

#define PARTNER_FEATURES(X)                                                                                \
    X(PARTNER_X, "partners/x", "m", SCALE_POSITION, -1, "centre, ahead of the agent's centre")            \
    X(PARTNER_Y, "partners/y", "m", SCALE_POSITION, -1, "centre, to the left")                             \
    X(PARTNER_DIRECTION_X, "partners/direction_x", "1", SCALE_ONE, -1, "unit vector of its heading, ahead")       \
    X(PARTNER_DIRECTION_Y, "partners/direction_y", "1", SCALE_ONE, -1, "unit vector of its heading, left")    \
    X(PARTNER_LENGTH, "partners/length", "m", SCALE_LENGTH, 0, "its length")                               \
    X(PARTNER_WIDTH, "partners/width", "m", SCALE_WIDTH, 0, "its width")                                   \
    X(PARTNER_SPEED, "partners/speed", "m/s", SCALE_SPEED, -1, "its speed along its heading")              \
    X(PARTNER_KIND, "partners/kind", "code", SCALE_OBJECT_KIND, 0, "kind of object; above 0 where the slot is filled")

#define ROAD_FEATURES(X)                                                                                   \
    X(ROAD_X, "roads/x", "m", SCALE_POSITION, -1, "middle of the segment, ahead")                          \
    X(ROAD_Y, "roads/y", "m", SCALE_POSITION, -1, "middle of the segment, to the left")                    \
    X(ROAD_DIRECTION_X, "roads/direction_x", "1", SCALE_ONE, -1, "unit vector of its direction, ahead; 0 for a point") \
    X(ROAD_DIRECTION_Y, "roads/direction_y", "1", SCALE_ONE, -1, "unit vector of its direction, left")        \
    X(ROAD_HALF_LENGTH, "roads/half_length", "m", SCALE_HALF_SEGMENT, 0, "half its length")                \
    X(ROAD_WIDTH, "roads/width", "m", SCALE_LANE_WIDTH, 0, "lane width; 0 unknown")                        \
    X(ROAD_SPEED_LIMIT, "roads/speed_limit", "m/s", SCALE_SPEED, 0, "speed limit; 0 unknown")              \
    X(ROAD_KIND, "roads/kind", "code", SCALE_ROAD_KIND, 0, "kind of road; above 0 where the slot is filled")

#define CANDIDATE_FEATURES(X)                                                                              \
    X(CANDIDATE_X, "candidates/x", "m", SCALE_POSITION, -1, "candidate goal, ahead of the agent's centre") \
    X(CANDIDATE_Y, "candidates/y", "m", SCALE_POSITION, -1, "candidate goal, to the left")                 \
    X(CANDIDATE_KIND, "candidates/kind", "code", SCALE_ONE, 0, "1, a goal, where the slot is filled")

#define CONTROL_FEATURES(X)                                                                                \
    X(CONTROL_LEFT_X, "controls/left_x", "m", SCALE_POSITION, -1, "left end of the stop line, ahead")      \
    X(CONTROL_LEFT_Y, "controls/left_y", "m", SCALE_POSITION, -1, "left end of the stop line, to the left") \
    X(CONTROL_RIGHT_X, "controls/right_x", "m", SCALE_POSITION, -1, "its right end, ahead")                \
    X(CONTROL_RIGHT_Y, "controls/right_y", "m", SCALE_POSITION, -1, "its right end, to the left")          \
    X(CONTROL_RED, "controls/red", "1", SCALE_ONE, 0, "1 if the light shows red")                          \
    X(CONTROL_YELLOW, "controls/yellow", "1", SCALE_ONE, 0, "1 if it shows yellow")                        \
    X(CONTROL_GREEN, "controls/green", "1", SCALE_ONE, 0, "1 if it shows green")                           \
    X(CONTROL_KIND, "controls/kind", "code", SCALE_CONTROL_KIND, 0,                                        \
      "kind of light or sign; above 0 where the slot is filled")

#define GOAL_FEATURES(X)                                                                                   \
    X(GOAL_X, "goals/x", "m", SCALE_POSITION, -1, "goal, ahead of the agent's centre")                     \
    X(GOAL_Y, "goals/y", "m", SCALE_POSITION, -1, "goal, to the left")                                     \
    X(GOAL_DIRECTION_X, "goals/direction_x", "1", SCALE_ONE, -1, "unit vector of its heading, ahead; 0 for any") \
    X(GOAL_DIRECTION_Y, "goals/direction_y", "1", SCALE_ONE, -1, "unit vector of its heading, left")          \
    X(GOAL_NUMBER, "goals/number", "goals", SCALE_GOALS, 0, "how many goals are before it; 0 for the current one") \
    X(GOAL_KIND, "goals/kind", "code", SCALE_ONE, 0, "1, a goal, where the slot is filled")

#define ROUTE_FEATURES(X)                                                                                  \
    X(ROUTE_X, "route/x", "m", SCALE_POSITION, -1, "point of the route, ahead of the agent's centre")      \
    X(ROUTE_Y, "route/y", "m", SCALE_POSITION, -1, "point of the route, to the left")                      \
    X(ROUTE_BEARING_X, "route/bearing_x", "1", SCALE_ONE, -1, "unit vector to the point, ahead")           \
    X(ROUTE_BEARING_Y, "route/bearing_y", "1", SCALE_ONE, -1, "unit vector to the point, left")            \
    X(ROUTE_DIRECTION_X, "route/direction_x", "1", SCALE_ONE, -1, "unit vector of the route there, ahead") \
    X(ROUTE_DIRECTION_Y, "route/direction_y", "1", SCALE_ONE, -1, "unit vector of the route there, left")  \
    X(ROUTE_KIND, "route/kind", "code", SCALE_ONE, 0, "1, a point of the route, where the slot is filled")

#define X(symbol, name, unit, scale, low, meaning) symbol,
enum { EGO_FEATURES(X) EGO_COUNT };
enum { TRIAL_FEATURES(X) TRIAL_COUNT };
enum { PARTNER_FEATURES(X) PARTNER_COUNT };
enum { ROAD_FEATURES(X) ROAD_COUNT };
enum { CANDIDATE_FEATURES(X) CANDIDATE_COUNT };
enum { CONTROL_FEATURES(X) CONTROL_COUNT };
enum { GOAL_FEATURES(X) GOAL_COUNT };
enum { ROUTE_FEATURES(X) ROUTE_COUNT };
#undef X

/* The features of a head other than hidden values and weights, which are in [-1, 1] already. */
enum { HEAD_COUNT = EGO_COUNT + TRIAL_COUNT };

/* Sets of an observation, in their order. */
enum {
    DRV_SET_PARTNERS,
    DRV_SET_ROADS,
    DRV_SET_CANDIDATES,
    DRV_SET_CONTROLS,
    DRV_SET_GOALS,
    DRV_SET_ROUTE,
    DRV_SET_COUNT
};

/* Scale and lowest value of each feature of an agent's head: ego, then trial. */
typedef struct drv_head_scales {
    float scale[HEAD_COUNT], low[HEAD_COUNT];
} drv_head_scales;

/* Scales of the numbers other than the pose in a vehicle's record. */
typedef struct drv_vehicle_scales {
    float length, width, speed, kind;
} drv_vehicle_scales;

/* What no config changes of a feature. */
typedef struct drv_feature_kind {
    const char *name, *unit, *meaning;
    drv_scale scale;
    float low;
} drv_feature_kind;

/* What observe_write needs of a config; made once per batch. */
typedef struct drv_layout {
    drv_head_scales head;
    drv_vehicle_scales vehicle;
    float position_scale;
    bool has_sensor_errors; /* drv_sensors_have_errors */
    int32_t weights_at; /* offset of the weights of the reward that have a range */
    int32_t size;       /* floats per agent */
    int32_t bytes;      /* per agent, in the config's observation type */
    drv_observation_set set[DRV_SET_COUNT];
} drv_layout;

drv_layout drv_layout_of(const drv_config *config);

/* Returns the factor by which an observation multiplies a quantity. Not inlined, so that the compiler moves no
 * computation out of the core's floating-point environment. */
float drv_layout_scale(const drv_config *config, drv_scale kind) __attribute__((noinline));

/* Writes the features of a record that begins at `offset` and is repeated in `slots` slots. `written` counts the
 * features before these; returns the count with these, which may exceed `capacity`. The floating-point environment must
 * be the core's. */
int32_t drv_layout_report(const drv_config *config, const drv_feature_kind *features, int32_t count, int32_t offset,
                          int32_t slots, drv_feature *out, int32_t capacity, int32_t written);
/* The same for all hidden values, and for the weights of the reward that have a range. Each is one float, as is every
 * feature before it, so `written` is the offset, too. */
int32_t drv_layout_report_hidden(const drv_config *config, drv_feature *out, int32_t capacity, int32_t written);
int32_t drv_layout_report_weights(const drv_config *config, drv_feature *out, int32_t capacity, int32_t written);

int32_t drv_layout_size(const drv_config *config);  /* floats per agent */
int32_t drv_layout_bytes(const drv_config *config); /* bytes per agent, in the config's observation type */

#endif
