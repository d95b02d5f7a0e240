/* What is the mutable state of a world? One row per array; the memory layout follows from this list.
 *
 * The state of a batch is one block without pointers: worlds one after another, the arrays of a world together. A copy
 * of the block is a copy of the batch. */
#ifndef DRV_STATE_H
#define DRV_STATE_H

#include "drive.h"
#include "math/grid.h"
#include "scene/scene.h"
#include "step/columns.h"
#include "step/dynamics.h"
#include "view/road_cache.h"
#include "view/action_space.h"
#include "view/encoding.h"

/* Values of `status`. */
enum { DRV_DRIVING = 0, DRV_STOPPED = 1, DRV_REMOVED = 2, DRV_ABSENT = 3 };

/* Values of `pending`: what the next step does with a world. */
enum { DRV_GOES_ON = 0, DRV_OPENS_TRIAL = 1, DRV_OPENS_EPISODE = 2 };

/* X(type, numpy type, name, elements of a world, unit or meaning, phases that change it)
 *
 * "create" and "reset" are drv_batch_create and drv_batch_reset; a reset also changes the arrays of trial_restart and
 * observe_write. */
#define DRV_STATE(X)                                                                                                 \
    /* the world's clock and its position in the stream of episodes */                                               \
    X(uint64_t, "u8", seed, 1, "", "create, reset")                                                                  \
    X(int64_t, "i8", id, 1, "", "create")                                                                            \
    X(int64_t, "i8", episode, 1, "", "create, reset, trial_restart")                                                 \
    X(int32_t, "i4", scene_index, 1, "", "trial_restart")                                                            \
    X(int32_t, "i4", trial, 1, "", "trial_restart")                                                                  \
    X(int32_t, "i4", clock_steps, 1, "steps driven in this trial", "trial_restart, trial_judge")                     \
    X(int32_t, "i4", age_steps, 1, "offset of the clock in a trial that starts late", "reset, trial_restart")        \
    X(uint8_t, "u1", pending, 1, "0 goes on, 1 opens a trial, 2 opens an episode", "trial_restart, trial_judge")     \
    /* vehicles; agents are the first */                                                                             \
    X(float, "f4", x_m, DRV_VEHICLES, "m", "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")        \
    X(float, "f4", y_m, DRV_VEHICLES, "m", "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")        \
    X(float, "f4", heading_rad, DRV_VEHICLES, "rad",                                                                 \
      "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")                                             \
    X(float, "f4", cos_heading, DRV_VEHICLES, "1",                                                                   \
      "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")                                             \
    X(float, "f4", sin_heading, DRV_VEHICLES, "1",                                                                   \
      "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")                                             \
    X(float, "f4", speed_mps, DRV_VEHICLES, "m/s",                                                                   \
      "trial_restart, traffic_plan, dynamics_integrate, trial_halt, respawn_agents")                                 \
    X(uint8_t, "u1", present, DRV_VEHICLES, "on the map", "trial_restart, traffic_plan, trial_judge")                \
    X(uint8_t, "u1", controller, DRV_VEHICLES, "drv_controller", "trial_restart, traffic_plan")                      \
    X(float, "f4", steering_rad, DRV_VEHICLES, "rad", "trial_restart, dynamics_integrate, respawn_agents")           \
    X(float, "f4", acceleration_mps2, DRV_VEHICLES, "m/s2",                                                          \
      "trial_restart, traffic_plan, dynamics_integrate, trial_halt, respawn_agents")                                 \
    X(float, "f4", yaw_rate_radps, DRV_VEHICLES, "rad/s",                                                            \
      "trial_restart, dynamics_integrate, trial_halt, respawn_agents")                                               \
    X(float, "f4", previous_x_m, DRV_VEHICLES, "m, a step ago",                                                      \
      "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")                                             \
    X(float, "f4", previous_y_m, DRV_VEHICLES, "m, a step ago",                                                      \
      "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")                                             \
    X(float, "f4", previous_heading_rad, DRV_VEHICLES, "rad, a step ago",                                            \
      "trial_restart, traffic_plan, dynamics_integrate, respawn_agents")                                             \
    X(uint8_t, "u1", previous_present, DRV_VEHICLES, "on the map a step ago", "trial_restart, traffic_plan")         \
    /* rule-based vehicles; no entries where no scene has one */                                                     \
    X(float, "f4", path_m, DRV_RULE_BASED, "m along the path; -1 before the vehicle enters",                         \
      "trial_restart, traffic_plan")                                                                                 \
    X(int32_t, "i4", arrival_step, DRV_RULE_BASED, "step at which it came near the crossing ahead; -1 not near",    \
      "trial_restart, traffic_plan")                                                                                 \
    X(int32_t, "i4", path_side, DRV_LANE_CHANGERS,                                                                   \
      "its lane, or the one it changes to: 0 that of its path, 1 left of it, -1 right of it",                        \
      "trial_restart, traffic_plan")                                                                                 \
    X(float, "f4", path_offset_m, DRV_LANE_CHANGERS, "m to the left of its path", "trial_restart, traffic_plan")     \
    X(float, "f4", path_offset_slope, DRV_LANE_CHANGERS, "1, path_offset_m per metre driven",                        \
      "trial_restart, traffic_plan")                                                                                 \
    X(int32_t, "i4", sign_steps, DRV_CONTROLLED_VEHICLES, "steps for which it has stood before a stop sign",          \
      "trial_restart, traffic_plan")                                                                                 \
    /* heights; no entries where no scene has roads above each other */                                              \
    X(float, "f4", z_m, DRV_HEIGHT_VEHICLES, "m, height of the road under it",                                       \
      "trial_restart, traffic_plan, height_follow, respawn_agents")                                                  \
    X(float, "f4", goal_z_m, DRV_HEIGHT_AGENTS, "m, height of the road at the goal",                                 \
      "trial_restart, trial_judge, respawn_agents")                                                                  \
    /* scripted vehicles; no entries where no scene has one */                                                       \
    X(int32_t, "i4", script_frame, DRV_SCRIPTS, "of its log; 0 while it waits, -1 where it does not exist",           \
      "trial_restart, traffic_plan")                                                                                 \
    X(uint8_t, "u1", script_crossed, DRV_SCRIPTS, "an agent has crossed its line in this trial",                     \
      "trial_restart, events_detect")                                                                                \
    /* agents: goals */                                                                                              \
    X(float, "f4", goal_x_m, DRV_AGENTS, "m", "trial_restart, trial_judge, respawn_agents")                          \
    X(float, "f4", goal_y_m, DRV_AGENTS, "m", "trial_restart, trial_judge, respawn_agents")                          \
    /* agents: the lane of the current goal; no entries where nothing uses it */                                     \
    X(int32_t, "i4", goal_lane, DRV_NEXT_GOALS, "road of the goal; -1 on no lane",                                   \
      "trial_restart, trial_judge, respawn_agents")                                                                  \
    X(float, "f4", goal_along_m, DRV_NEXT_GOALS, "m along it", "trial_restart, trial_judge, respawn_agents")         \
    X(int32_t, "i4", goal_turns, DRV_NEXT_GOALS, "lanes passed since the first goal", "trial_restart, trial_judge") \
    /* agents: goals that follow one another; no entries where none does */                                          \
    X(int32_t, "i4", goals_reached, DRV_COUNTED_GOALS, "in this trial", "trial_restart, trial_judge")                \
    X(int32_t, "i4", respawns, DRV_RESPAWN_AGENTS, "in this trial", "trial_restart, respawn_agents")                 \
    X(int32_t, "i4", start_of, DRV_RESPAWN_AGENTS, "the agent whose start, goal and route in the scene it has",      \
      "trial_restart, respawn_agents")                                                                               \
    /* agents: events of the step, and the state that detects their onset */                                         \
    X(uint8_t, "u1", collision_onset, DRV_AGENTS, "an overlap with a vehicle began", "trial_restart, events_detect") \
    X(int32_t, "i4", collision_vehicle, DRV_AGENTS, "lowest vehicle whose overlap began, else -1",                   \
      "trial_restart, events_detect")                                                                                \
    X(uint8_t, "u1", offroad_onset, DRV_AGENTS, "an overlap with a road edge began", "trial_restart, events_detect") \
    X(uint8_t, "u1", goal_onset, DRV_AGENTS, "the agent reached its goal", "trial_restart, events_detect")           \
    X(uint64_t, "u8", overlapping, DRV_CONTACT_WORDS, "bit v: overlaps vehicle v",                                   \
      "trial_restart, events_detect, respawn_agents")                                                                \
    X(uint8_t, "u1", on_road_edge, DRV_AGENTS, "the box overlaps a road edge",                                       \
      "trial_restart, events_detect, respawn_agents")                                                                \
    X(uint8_t, "u1", in_goal_since_start, DRV_AGENTS, "at the goal since the start",                                 \
      "trial_restart, events_detect, respawn_agents")                                                                \
    /* traffic lights and signs; no entries where they have no effect */                                             \
    X(uint8_t, "u1", light_state, DRV_LIGHTS, "drv_light, at the end of the step", "trial_restart, lights_show")     \
    X(int32_t, "i4", light_offset_steps, DRV_LIGHTS, "of its program at the start of the trial", "trial_restart")    \
    X(uint8_t, "u1", red_light_onset, DRV_CONTROL_AGENTS, "the agent crossed a stop line at red",                    \
      "trial_restart, events_detect")                                                                                \
    X(uint8_t, "u1", stop_sign_onset, DRV_CONTROL_AGENTS, "it crossed that of a stop sign without a stop",           \
      "trial_restart, events_detect")                                                                                \
    X(uint8_t, "u1", stopped_at_sign, DRV_CONTROL_AGENTS, "it has stopped near the stop sign ahead of it",           \
      "trial_restart, events_detect, respawn_agents")                                                                \
    X(uint8_t, "u1", had_red_light, DRV_CONTROL_AGENTS, "in this trial", "trial_restart, trial_judge")               \
    X(uint8_t, "u1", had_stop_sign, DRV_CONTROL_AGENTS, "in this trial", "trial_restart, trial_judge")               \
    /* agents: measures, the continuous facts */                                                                     \
    X(float, "f4", distance_m, DRV_AGENTS, "m driven in this trial", "trial_restart, measures_take")                 \
    X(float, "f4", progress_m, DRV_AGENTS, "m by which the goal came nearer in the step, 0 once it was reached",     \
      "trial_restart, measures_take")                                                                                \
    /* agents: the lane that each is on; no entries where nothing uses it */                                         \
    X(int32_t, "i4", lane, DRV_LANE_AGENTS, "its road, -1 for none", "trial_restart, lane_locate")                   \
    X(float, "f4", lane_offset_m, DRV_LANE_AGENTS, "m to the left of its centre line", "trial_restart, lane_locate") \
    X(float, "f4", lane_cos_error, DRV_LANE_AGENTS, "1, of the heading less that of the lane; 0 without a lane",     \
      "trial_restart, lane_locate")                                                                                  \
    X(float, "f4", lane_sin_error, DRV_LANE_AGENTS, "1", "trial_restart, lane_locate")                               \
    /* agents: comfort; no entries where nothing uses it */                                                          \
    X(float, "f4", lateral_mps2, DRV_COMFORT_AGENTS, "m/s2, acceleration to the left",                               \
      "trial_restart, measures_take, respawn_agents")                                                                \
    X(float, "f4", jerk_mps3, DRV_COMFORT_AGENTS, "m/s3", "trial_restart, measures_take")                            \
    X(float, "f4", previous_acceleration_mps2, DRV_COMFORT_AGENTS, "m/s2, of the last step driven, for jerk_mps3",   \
      "trial_restart, measures_take, respawn_agents")                                                                \
    /* agents: the route of each; no entries where nothing uses it */                                                \
    X(float, "f4", route_m, DRV_ROUTE_AGENTS, "m along the route to the goal",                                       \
      "trial_restart, measures_take, respawn_agents")                                                                \
    X(float, "f4", route_progress_m, DRV_ROUTE_AGENTS, "m along it in the step, 0 once its goal was reached",        \
      "trial_restart, measures_take")                                                                                \
    /* agents: proximity; no entries where nothing uses it */                                                        \
    X(float, "f4", time_to_collision_s, DRV_PROXIMITY_AGENTS, "s, at most the horizon",                              \
      "trial_restart, proximity_measure")                                                                            \
    /* agents: this trial, for the detailed metrics; no entries where they are off */                                \
    X(float, "f4", start_to_goal_m, DRV_DETAILED_AGENTS,                                                             \
      "m from the goal at the start, in a list from the goal before it", "trial_restart, trial_judge")               \
    X(float, "f4", min_to_goal_m, DRV_DETAILED_AGENTS, "m, the nearest to the goal since",                           \
      "trial_restart, details_add, trial_judge")                                                                     \
    X(int32_t, "i4", lane_steps, DRV_DETAILED_AGENTS, "steps on a lane", "trial_restart, details_add")               \
    X(float, "f4", lane_offset_sum_m, DRV_DETAILED_AGENTS, "m, of their distances from the centre line",             \
      "trial_restart, details_add")                                                                                  \
    X(int32_t, "i4", wrong_way_steps, DRV_DETAILED_AGENTS, "steps against the lane", "trial_restart, details_add")   \
    X(int32_t, "i4", over_speed_steps, DRV_DETAILED_AGENTS, "steps above the limit", "trial_restart, details_add")   \
    X(float, "f4", min_gap_m, DRV_DETAILED_AGENTS, "m", "trial_restart, details_add")                                \
    X(float, "f4", min_time_to_collision_s, DRV_DETAILED_AGENTS, "s", "trial_restart, details_add")                  \
    X(float, "f4", max_jerk_mps3, DRV_DETAILED_AGENTS, "m/s3", "trial_restart, details_add")                         \
    X(int32_t, "i4", hard_brakings, DRV_DETAILED_AGENTS, "onsets", "trial_restart, details_add")                     \
    X(uint8_t, "u1", brakes_hard, DRV_DETAILED_AGENTS, "in this step",                                               \
      "trial_restart, details_add, respawn_agents")                                                                  \
    X(int32_t, "i4", infractions, DRV_DETAILED_AGENTS, "onsets of collision, off-road, red light and stop sign",     \
      "trial_restart, details_add")                                                                                  \
    X(uint8_t, "u1", had_fault_by_bearing, DRV_DETAILED_AGENTS, "a collision at fault", "trial_restart, details_add") \
    X(uint8_t, "u1", had_fault_by_bumper, DRV_DETAILED_AGENTS, "the same, by nuPlan's rule",                         \
      "trial_restart, details_add")                                                                                  \
    /* agents: status and outcome */                                                                                 \
    X(uint8_t, "u1", status, DRV_AGENTS, "0 driving, 1 stopped, 2 removed, 3 absent", "trial_restart, trial_judge")  \
    X(uint8_t, "u1", outcome, DRV_AGENTS, "how this trial ended for the agent, 0 not yet",                           \
      "trial_restart, trial_judge")                                                                                  \
    X(uint8_t, "u1", recorded, DRV_AGENTS, "this step decided the trial", "trial_restart, trial_judge")              \
    X(int32_t, "i4", steps_driven, DRV_AGENTS, "steps in this trial", "trial_restart, trial_judge")                  \
    X(uint8_t, "u1", had_goal, DRV_AGENTS, "in this trial", "trial_restart, trial_judge")                            \
    X(uint8_t, "u1", had_collision, DRV_AGENTS, "in this trial", "trial_restart, trial_judge")                       \
    X(uint8_t, "u1", had_offroad, DRV_AGENTS, "in this trial", "trial_restart, trial_judge")                         \
    X(uint8_t, "u1", scored, DRV_AGENTS, "goal with no infraction by then", "trial_restart, trial_judge")            \
    X(uint8_t, "u1", previous_outcome, DRV_AGENTS, "of the trial before", "trial_restart")                           \
    X(float, "f4", previous_share, DRV_AGENTS, "steps driven / trial_steps of the trial before", "trial_restart")    \
    /* agents: reward */                                                                                             \
    X(float, "f4", last_reward, DRV_AGENTS, "of the last acting step of this episode", "trial_restart, reward_score") \
    X(float, "f4", trial_reward, DRV_REWARDS, "sum in this trial [agent, term]", "trial_restart, reward_score") \
    X(float, "f4", own_reward, DRV_OWN_REWARDS, "sum in this trial of the caller's rewards; no entries without them", \
      "trial_restart, drv_batch_reward")                                                                             \
    X(uint8_t, "u1", reward_is_due, DRV_HAS_OWN_REWARD, "the caller has not yet rewarded the last step",             \
      "reset, reward_score, drv_batch_reward")                                                                       \
    X(float, "f4", reward_weight, DRV_DRAWN_WEIGHTS, "[agent, term]; no entries where no term has a range",          \
      "trial_restart")                                                                                               \
    /* agents: masks of actions; no entries where they are off */                                                     \
    X(float, "f4", valid_action_sum, DRV_MASK_AGENTS, "1, of the shares of valid actions in the steps of this trial", \
      "trial_restart, mask_write")                                                                                    \
    /* agents: co-players; no entries where there are none */                                                         \
    X(uint8_t, "u1", coplayer, DRV_COPLAYER_AGENTS, "the agent is a co-player in this episode", "trial_restart") \
    /* agents: slip; no entries where no vehicle slips */                                                             \
    X(float, "f4", sideslip_rad, DRV_SLIP_AGENTS, "rad, of the path to the left of the heading",                     \
      "trial_restart, dynamics_integrate, respawn_agents")                                                           \
    /* agents: hidden variation; no entries where it is off */                                                       \
    X(float, "f4", hidden, DRV_HIDDEN_VALUES, "value in effect [agent, drv_hidden]", "trial_restart")                \
    X(float, "f4", commanded_steering_rad, DRV_COMMANDED_AGENTS, "rad",                                              \
      "trial_restart, dynamics_integrate, respawn_agents")                                                           \
    X(float, "f4", delayed_control, DRV_DELAYED_CONTROLS, "[agent, step, number of the control], of the last steps", \
      "trial_restart, dynamics_integrate, respawn_agents")                                                           \
    /* agents: disturbances; no entries where they are off */                                                        \
    X(int32_t, "i4", blind_steps, DRV_DISTURBED_AGENTS, "coming steps in which it observes no vehicles",             \
      "trial_restart, disturbances_draw")                                                                            \
    X(int32_t, "i4", braking_steps, DRV_DISTURBED_AGENTS, "coming steps in which it brakes whatever its action",     \
      "trial_restart, disturbances_draw")                                                                            \
    /* agents: report */                                                                                             \
    X(double, "f8", average, DRV_AVERAGES, "moving average [agent, trial, metric]", "metrics_add")                   \
    X(int64_t, "i8", trials, DRV_TRIALS, "trials averaged [agent, trial]", "metrics_add")                            \
    X(double, "f8", coplayer_average, DRV_COPLAYER_AVERAGES, "average, of the agent as a co-player", "metrics_add") \
    X(int64_t, "i8", coplayer_trials, DRV_COPLAYER_TRIALS, "trials, of the agent as a co-player", "metrics_add")    \
    /* records of finished trials, until the caller takes them; no entries where record_capacity is 0 */             \
    X(int32_t, "i4", record_count, DRV_HAS_RECORDS, "finished trials held", "metrics_add")                           \
    X(int64_t, "i8", records_lost, DRV_HAS_RECORDS, "agents' records not kept for lack of capacity", "metrics_add")  \
    X(int64_t, "i8", record_episode, DRV_RECORDED_TRIALS, "", "metrics_add")                                         \
    X(int32_t, "i4", record_scene, DRV_RECORDED_TRIALS, "index", "metrics_add")                                      \
    X(int32_t, "i4", record_trial, DRV_RECORDED_TRIALS, "index", "metrics_add")                                      \
    X(uint8_t, "u1", record_outcome, DRV_RECORDS, "drv_outcome [trial, agent]", "metrics_add")                       \
    X(uint8_t, "u1", record_coplayer, DRV_COPLAYER_RECORDS, "[trial, agent]", "metrics_add")                       \
    X(float, "f4", record_values, DRV_RECORD_VALUES, "[trial, agent, metric]", "metrics_add")

/* Sizes of a world, from which the element counts of DRV_STATE follow (state.c). `contact_words` is the number of
 * uint64 with one bit per vehicle. */
typedef struct drv_sizes {
    int32_t agents, vehicles, contact_words, max_trials, record_capacity;
    int32_t terms, metrics; /* of drv_columns */
    /* agents, or 0 where nothing uses facts of the kind */
    int32_t lane_agents, comfort_agents, proximity_agents, detailed_agents, route_agents;
    int32_t coplayer_agents;  /* agents, or 0 where there are no co-players */
    int32_t mask_agents;      /* agents, or 0 where actions have no masks */
    int32_t own_reward_agents; /* agents, or 0 where the caller does not reward steps */
    int32_t has_weights;      /* 1: reward terms have ranges */
    int32_t next_goals;       /* agents, or 0 where nothing uses the lanes of goals */
    int32_t counted_goals;    /* agents, or 0 where nothing uses the lanes of goals and agents do not respawn */
    int32_t respawn_agents;   /* agents, or 0 where they do not respawn */
    int32_t slip_agents;      /* agents, or 0 where no vehicle slips */
    int32_t traffic_controls; /* the most of a scene, or 0 where they have no effect */
    int32_t control_agents;   /* agents, or 0 likewise */
    int32_t controlled_vehicles; /* rule-based ones, or 0 likewise */
    int32_t has_hidden;       /* 1: agents have hidden values */
    int32_t has_commanded;    /* 1: the commanded wheel angle may differ from the vehicle's */
    int32_t delay_steps;      /* the longest delay of an action */
    int32_t lane_changers;    /* rule_based, or 0 where they do not change lanes */
    int32_t rule_based;       /* the most rule-based vehicles of a scene */
    int32_t disturbed_agents; /* agents, or 0 where disturbances are off */
    int32_t height_vehicles, height_agents; /* vehicles and agents, or 0 where no scene has heights */
    int32_t scripts;          /* the most scripted vehicles of a scene */
} drv_sizes;

/* Numbers of the controls that are held until they take effect. */
static inline int64_t drv_delayed_controls(drv_sizes sizes) {
    return (int64_t)sizes.agents * sizes.delay_steps * DRV_ACTION_DIMENSIONS;
}

/* The core's copy of the caller's actions: bins or shares, `width` of the action space per agent; the other is
 * NULL. */
typedef struct drv_actions {
    int64_t *bin;
    float *share;
} drv_actions;

/* All data of one world that phases access: constants, state, and its entries of the caller's arrays. */
typedef struct drv_world {
    const drv_config *config;
    const drv_action_space *action_space;
    drv_scene *const *scenes;
    int32_t scene_count;
    const drv_columns *columns;
    drv_road_cache *road_cache;
    const drv_encoding *encodings; /* of each scene */
    const drv_scene *scene;        /* the one in play */
    const drv_encoding *encoding;  /* its encoding */
    drv_sizes sizes;
    drv_arrays out;
    drv_actions actions; /* of the next step, from the world's first agent on */
#define X(type, letter, name, count, unit, phase) type *name;
    DRV_STATE(X)
#undef X
} drv_world;

/* The vehicles of a world that are on the map, in ascending order. */
typedef struct drv_on_map {
    int32_t count;
    int32_t *vehicle; /* the vehicle of each entry */
    int32_t *index;   /* the entry of each agent that is on the map */
    float *x_m, *y_m;
    float *z_m;       /* valid where the scene has heights */
} drv_on_map;

/* Circles that contain the boxes of vehicles until the end of their forecasts, by index in drv_on_map. */
typedef struct drv_forecast {
    float *x_m, *y_m, *radius_m;
} drv_forecast;

/* A zone of a path that a rule-based vehicle is in or near. */
typedef struct drv_claim {
    int32_t path, zone;
    float from_m; /* the part of the zone that matters begins here: what is behind the vehicle is free again */
    float to_m;   /* and ends here: at a stop line at which the vehicle stops */
    int32_t step; /* when the vehicle came near; -1 if it is inside */
    int32_t priority; /* 1 without a sign, -1 at a stop or yield sign, 0 without a sign but standing */
    int32_t rank;     /* its place among those that came near in the same step */
} drv_claim;

/* The most claims of a vehicle: a long one may be in several zones, and near one more. */
enum { DRV_CLAIMS = DRV_SIZE_LIMIT_M / DRV_ZONE_GAP_M + 2 };

/* Scratch memory of one thread, with the number of entries. */
typedef struct drv_scratch {
    float *distance2;       /* squared distances; max(segments, vehicles, controls) + 2 * DRV_SIMD_PAD */
    float *buffer;          /* of drv_k_nearest; as long as distance2 */
    int32_t *segment;       /* indices of segments; segments + DRV_SIMD_PAD */
    int32_t *block_first;   /* the first index of each block: 0, DRV_WIDTH, ..; max(vehicles, controls) */
    int32_t *kept;          /* selected indices; slots + DRV_SIMD_PAD */
    float *goal_record;     /* of the goals of one agent; config goals * GOAL_COUNT */
    float *route_record;    /* of the route of one agent; config route * ROUTE_COUNT */
    float *vehicle_record;  /* records by index in on_map; vehicles * DRV_RECORD_FLOATS */
    drv_road_list *list;    /* with the capacity of the longest list */
    int32_t *first;         /* the first segment of each block of segments; segments + DRV_SIMD_PAD */
    float *observation;     /* one observation vector */
    drv_on_map on_map;      /* valid after drv_on_map_list; vehicles + DRV_SIMD_PAD */
    int32_t *near;          /* indices in on_map; as many as vehicles, none where no scene has rule-based ones */
    drv_forecast forecast;  /* valid after drv_corridor_forecast; as long as those of on_map, none likewise */
    drv_claim *claims;      /* DRV_CLAIMS per rule-based vehicle */
    float *stop_m;          /* of each path; valid after drv_stopping_update, none where lights have no effect */
    int32_t halted;         /* agents that the step stopped or removed; valid after drv_trial_judge */
    uint8_t *chosen;        /* agents to observe; 0 or 1 per agent */
    int32_t *sub_cell;      /* of each agent, as index in drv_road_cache_grid; valid after drv_roads_locate */
    void *world;            /* a copy of one world's state, for drv_batch_restart_observations */
} drv_scratch;

/* Bytes of one world's state, a multiple of 64. */
uint64_t drv_state_world_bytes(drv_sizes sizes);
/* Sets the pointers of a world to its part of the block. */
void drv_state_attach(drv_world *world, void *world_block);
/* Describes array `index`; returns false past the end. */
_Bool drv_state_describe(drv_sizes sizes, int32_t index, drv_state_field *out);

#endif
