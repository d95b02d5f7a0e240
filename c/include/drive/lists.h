/* Which arrays, settings, vehicle models and reward terms does a batch have, and which arrays a scene?
 *
 * The structs, enums, names, ranges, sizes and copies of the core expand from these lists; Python reads them as tables.
 * Another array, setting, model or term is one row here; docs/architecture.md has the rest of the recipe. */
#ifndef DRV_LISTS_H
#define DRV_LISTS_H

/* The caller's arrays: the actions, the observations and one array per channel.
 *
 * X(type, name, numpy type, AGENTS or WORLDS, shape, phases that change it, meaning)
 *
 * An array has one entry per agent or per world. An entry is ONE number, the ACTION of an agent, its OBSERVATION, its
 * IMAGE, the observation of its CRITIC, the MASK of its actions, its TERMS of the reward, or the vehicle TABLE of a
 * world. The numpy type of actions and observations, "" here, depends on the config. COPLAYER is ONE that only some
 * configs have. */
#define DRV_ARRAYS(X)                                                                                              \
    X(void, actions, "", AGENTS, ACTION, "",                                                                       \
      "int64 indices of the two discrete action types, or float32 shares of the limits in [-1, 1]")                \
    X(uint8_t, observations, "", AGENTS, OBSERVATION, "observe_write", "observation vectors, or index observations") \
    X(float, vehicle_table, "f4", WORLDS, TABLE, "observe_write",                                                  \
      "records of the vehicles that index observations refer to; the first is zeros. NULL for other types")        \
    X(uint8_t, images, "u1", AGENTS, IMAGE, "observe_write",                                                      \
      "what the agent observes as an image, layer by layer. NULL for types without images")                       \
    X(float, critic_observations, "f4", AGENTS, CRITIC, "critic_write",                                           \
      "what a critic may observe and the agent may not. NULL where the config's critic_observations is 0")         \
    X(uint8_t, action_mask, "b1", AGENTS, MASK, "mask_write",                                                     \
      "which discrete actions are valid next. NULL where the config's action_mask is 0")                           \
    X(float, rewards, "f4", AGENTS, ONE, "trial_restart, reward_score, drv_batch_reward",                          \
      "sum of the reward terms, or with own_reward what the caller passed")                                        \
    X(float, reward_terms, "f4", AGENTS, TERMS, "trial_restart, reward_score",                                     \
      "the fact of each reward term, without its weight. NULL where the config's reward_terms is 0")               \
    X(uint8_t, terminations, "b1", AGENTS, ONE, "trial_restart, trial_judge",                                      \
      "an event ended the agent's last trial of the episode")                                                      \
    X(uint8_t, truncations, "b1", AGENTS, ONE, "trial_restart, trial_judge",                                       \
      "the episode was cut while the agent was driving")                                                           \
    X(uint8_t, trial_ended, "b1", AGENTS, ONE, "trial_restart, trial_judge", "the step ended a trial of the world") \
    X(uint8_t, truncation, "b1", AGENTS, ONE, "trial_restart, trial_judge",                                        \
      "the step ended a trial while the agent was driving")                                                        \
    X(uint8_t, invalid_step, "b1", AGENTS, ONE, "trial_restart, trial_judge", "the action had no effect")          \
    X(uint8_t, first, "b1", AGENTS, ONE, "trial_restart, trial_judge", "the observation opens an episode")         \
    X(int32_t, trial_index, "i4", AGENTS, ONE, "trial_restart", "the trial of the observation, from 0")             \
    X(uint8_t, removed, "b1", AGENTS, ONE, "trial_restart, trial_judge", "off the map")                            \
    X(uint8_t, stopped, "b1", AGENTS, ONE, "trial_restart, trial_judge", "on the map, not driving")                \
    X(uint8_t, waits, "b1", AGENTS, ONE, "trial_restart, trial_judge", "the next action will have no effect")      \
    X(uint8_t, outcome, "u1", AGENTS, ONE, "trial_restart, trial_judge",                                           \
      "drv_outcome in the step that decides the agent's trial, else 0")                                            \
    X(uint16_t, code, "u2", AGENTS, ONE, "trial_restart, trial_judge",                                             \
      "the agent's flags in one number, see DRV_CODE_*")                                                           \
    X(uint8_t, coplayer, "b1", AGENTS, COPLAYER, "trial_restart",                                                 \
      "the agent is a co-player in this episode. NULL where the config's coplayers is 0")                          \
    X(int32_t, scene_index, "i4", WORLDS, ONE, "trial_restart", "the scene that the world plays")

/* The terms of the reward; each is a weight of the config times a fact of the step.
 *
 * X(SYMBOL, name, weight, ONSET or RATE, ALWAYS or WEIGHTED or WEIGHTED_<facts>)
 *
 * An ONSET is rewarded once, a RATE in every step. The sums of a term over trials are in the state and in the report
 * ALWAYS, or only where its weight is not 0 or has a range; the first kind comes first. <facts> are measured only where
 * something uses them: those of the LANE, of COMFORT, of the PROXIMITY of other vehicles, of the agent's LOG, or of its
 * ROUTE. The last two need parts of a scene that others need not have: drv_scene_parts_of. */
#define DRV_REWARD_TERMS(X)                                                            \
    X(GOAL, goal, reward_goal, ONSET, ALWAYS)                                          \
    X(COLLISION, collision, reward_collision, ONSET, ALWAYS)                           \
    X(OFFROAD, offroad, reward_offroad, ONSET, ALWAYS)                                 \
    X(PROGRESS, progress, reward_progress_per_m, RATE, ALWAYS)                         \
    X(TIME, time, reward_time_per_s, RATE, WEIGHTED)                                   \
    X(REVERSE, reverse, reward_reverse_per_m, RATE, WEIGHTED)                          \
    X(LANE_ALIGNMENT, lane_alignment, reward_lane_alignment_per_s, RATE, WEIGHTED_LANE) \
    X(LANE_OFFSET, lane_offset, reward_lane_offset_per_m_s, RATE, WEIGHTED_LANE)       \
    X(WRONG_WAY, wrong_way, reward_wrong_way_per_m, RATE, WEIGHTED_LANE)               \
    X(OVER_SPEED, over_speed, reward_over_speed_per_m, RATE, WEIGHTED_LANE)            \
    X(DISCOMFORT, discomfort, reward_discomfort_per_s, RATE, WEIGHTED_COMFORT)         \
    X(TIME_TO_COLLISION, time_to_collision, reward_time_to_collision_per_s, RATE, WEIGHTED_PROXIMITY) \
    X(RED_LIGHT, red_light, reward_red_light, ONSET, WEIGHTED)                         \
    X(STOP_SIGN, stop_sign, reward_stop_sign, ONSET, WEIGHTED)                         \
    X(DISTANCE_TO_LOG, distance_to_log, reward_distance_to_log_per_m_s, RATE, WEIGHTED_LOG) \
    X(ROUTE_PROGRESS, route_progress, reward_route_progress_per_m, RATE, WEIGHTED_ROUTE)

/* The quantities that actions set: the numbers of a control.
 *
 * X(SYMBOL, name, unit, low, high, bins, values)
 *
 * `low` and `high` are what -1 and 1 of a continuous action stand for, under the drv_config at `config`. `values` lists
 * the values of the bins of discrete actions, an even number of them. Where `values` is a single 0, the bins are evenly
 * spaced from low to high instead, and their number is odd, so that the middle one is exactly zero. A quantity with 0
 * bins has continuous actions only. */
#define DRV_CONTROLS(X)                                                                                         \
    X(ACCELERATION, "acceleration", "m/s2", -config->max_acceleration_mps2, config->max_acceleration_mps2, 7, 0) \
    X(STEERING, "steering", "rad", -config->max_steering_rad, config->max_steering_rad, 13, 0)                   \
    X(STEERING_9_BINS, "steering", "rad", -config->max_steering_rad, config->max_steering_rad, 9, 0)             \
    X(CURVATURE, "curvature", "1/m", -DRV_CURVATURE_LIMIT_PER_M, DRV_CURVATURE_LIMIT_PER_M, 13, 0)               \
    X(AHEAD, "dx", "m per 0.1 s", -DRV_DELTA_LIMIT_M, DRV_DELTA_LIMIT_M, 0, 0)                                   \
    X(LEFT, "dy", "m per 0.1 s", -DRV_DELTA_LIMIT_M, DRV_DELTA_LIMIT_M, 0, 0)                                    \
    X(TURN, "dheading", "rad per 0.1 s", -DRV_TURN_LIMIT_RAD, DRV_TURN_LIMIT_RAD, 0, 0)                          \
    X(JERK_AHEAD, "longitudinal_jerk", "m/s3", -DRV_BRAKING_JERK_MPS3, DRV_JERK_MPS3, 4,                         \
      -DRV_BRAKING_JERK_MPS3, -DRV_JERK_MPS3, 0, DRV_JERK_MPS3)                                                  \
    X(JERK_LEFT, "lateral_jerk", "m/s3", -DRV_JERK_MPS3, DRV_JERK_MPS3, 3, 0)                                    \
    X(STATE_X, "x", "m", -DRV_STATE_LIMIT_M, DRV_STATE_LIMIT_M, 0, 0)                                            \
    X(STATE_Y, "y", "m", -DRV_STATE_LIMIT_M, DRV_STATE_LIMIT_M, 0, 0)                                            \
    X(STATE_HEADING, "heading", "rad", -DRV_STATE_LIMIT_RAD, DRV_STATE_LIMIT_RAD, 0, 0)                          \
    X(STATE_SPEED, "speed", "m/s", -DRV_STATE_LIMIT_MPS, DRV_STATE_LIMIT_MPS, 0, 0)

/* The models of how a vehicle moves, each a file of c/src/step/dynamics/, and the numbers of its control.
 *
 * X(SYMBOL, name, first number, ...): the numbers are codes of rows of DRV_CONTROLS. */
#define DRV_DYNAMICS(X)                                                                           \
    X(BICYCLE, bicycle, DRV_CONTROL_ACCELERATION, DRV_CONTROL_STEERING)                           \
    X(CLASSIC, classic, DRV_CONTROL_ACCELERATION, DRV_CONTROL_STEERING_9_BINS)                    \
    X(INVERTIBLE_BICYCLE, invertible_bicycle, DRV_CONTROL_ACCELERATION, DRV_CONTROL_CURVATURE)    \
    X(DELTA_LOCAL, delta_local, DRV_CONTROL_AHEAD, DRV_CONTROL_LEFT, DRV_CONTROL_TURN)            \
    X(GRIP, grip, DRV_CONTROL_ACCELERATION, DRV_CONTROL_STEERING)                                 \
    X(JERK, jerk, DRV_CONTROL_JERK_AHEAD, DRV_CONTROL_JERK_LEFT)                                  \
    X(SINGLE_TRACK, single_track, DRV_CONTROL_ACCELERATION, DRV_CONTROL_STEERING)                 \
    X(STATE, state, DRV_CONTROL_STATE_X, DRV_CONTROL_STATE_Y, DRV_CONTROL_STATE_HEADING, DRV_CONTROL_STATE_SPEED)

#define DRV_DYNAMICS_NAME(symbol, name, ...) #name " "

/* The hidden parameters: how the vehicle of an agent may differ from what its actions and observations say.
 *
 * X(SYMBOL, name, neutral, lowest, highest, meaning)
 *
 * A config has a range for each, from which its values are drawn: drv_config.hidden_<name>_low to hidden_<name>_high,
 * within lowest to highest. With both ends 0 the parameter does not vary: its value is `neutral`, under the drv_config
 * at `config`. */
#define DRV_HIDDEN(X)                                                                                               \
    X(STEERING_GAIN, steering_gain, 1, 1e-3, 10, "factor of the commanded wheel angle or curvature; below 0: flipped") \
    X(STEERING_OFFSET, steering_offset_rad, 0, -1.5, 1.5, "wheel angle that is added to the commanded one")          \
    X(THROTTLE_GAIN, throttle_gain, 1, 1e-3, 10, "factor of a commanded acceleration above 0")                       \
    X(BRAKE_GAIN, brake_gain, 1, 1e-3, 10, "factor of a commanded acceleration below 0")                             \
    X(ACTION_DELAY, action_delay_steps, 0, 0, DRV_DELAY_LIMIT, "steps from an action to its effect")                 \
    X(FRICTION, friction, config->friction, 1e-3, 10, "friction of tyres and road")                                  \
    X(WHEELBASE, wheelbase_factor, 1, 1e-2, 100, "factor of the distance between the axles")

/* The layers of an image, in their order.
 *
 * X(SYMBOL, name, meaning) */
#define DRV_IMAGE_LAYERS(X)                                                                                          \
    X(EDGES, edges, "road edges")                                                                                    \
    X(LINES, lines, "painted lines")                                                                                 \
    X(LANES, lanes, "centre lines of lanes")                                                                         \
    X(CROSSWALKS, crosswalks, "outlines of crosswalks")                                                              \
    X(CONTROLS, controls, "stop lines: 255 at a red light or stop sign, 170 at a yellow light or yield sign, 85 at a " \
                          "green light")                                                                             \
    X(PARTNERS, partners, "other vehicles: 128 at rest, 255 at the highest speed, 1 at the same speed in reverse")   \
    X(SELF, self, "the agent's own vehicle, likewise")                                                               \
    X(GOAL, goal, "the area of the agent's goal; if it is outside of the image, at the border in its direction")

#define DRV_IMAGE_LAYER_NAME(symbol, name, meaning) #name " "

/* The settings that all worlds of a batch share, other than the weights of the reward.
 *
 * X(type, name, numpy type, lowest, highest, value of None, choices)
 *
 * Within these ranges the arithmetic is valid; Python's ranges are narrower: what makes sense for a user. `value of
 * None` is the number that stands for Python's None, NAN where there must be a value. The choices of an enum are in the
 * order of its codes, from 0; those of a set in the order of its bits. */
#define DRV_CONFIG(X)                                                                          \
    X(int32_t, max_trials, "i4", 1, 10000, NAN, "")                                            \
    X(int32_t, action_type, "i4", DRV_DISCRETE, DRV_CONTINUOUS, NAN, "discrete multi_discrete continuous") \
    X(int32_t, dynamics, "i4", 0, DRV_DYNAMICS_COUNT - 1, NAN, DRV_DYNAMICS(DRV_DYNAMICS_NAME)) \
    X(float, max_acceleration_mps2, "f4", 1e-3, 100, NAN, "")                                  \
    X(float, max_steering_rad, "f4", 1e-3, 1.5, NAN, "")                                       \
    X(float, max_speed_mps, "f4", 1e-3, DRV_SPEED_LIMIT_MPS, NAN, "")                          \
    X(float, min_speed_mps, "f4", -DRV_SPEED_LIMIT_MPS, 0, NAN, "")                            \
    X(float, friction, "f4", 1e-3, 10, NAN, "")                                                \
    X(float, goal_radius_m, "f4", 1e-3, 1000, NAN, "")                                         \
    X(float, goal_reveal_s, "f4", -1, 1e6, -1, "") /* below 0: always observed; 0: never */    \
    X(float, goal_reveal_share, "f4", 0, 1, NAN, "") /* of trials in which it is observed from a drawn time on */ \
    X(float, goal_reveal_delay_s, "f4", 0, 1e6, NAN, "") /* the latest of these times */       \
    X(float, vertical_clearance_m, "f4", DRV_LEVEL_HEIGHT_M, 1000, NAN, "") /* heights within it are of one level */ \
    X(float, goal_max_speed_mps, "f4", -1, DRV_SPEED_LIMIT_MPS, -1, "") /* below 0: any speed */ \
    X(float, goal_heading_tolerance_rad, "f4", -1, 3, -1, "") /* below 0: any heading */       \
    X(int32_t, on_goal, "i4", DRV_IGNORE, DRV_RESPAWN, NAN, "ignore stop remove next respawn") \
    X(float, goal_spacing_m, "f4", 0.1, 10000, NAN, "")                                        \
    X(int32_t, max_goals, "i4", 0, 10000, 0, "") /* 0: no limit */                             \
    X(int32_t, on_collision, "i4", DRV_IGNORE, DRV_REMOVE, NAN, "ignore stop remove")          \
    X(int32_t, on_offroad, "i4", DRV_IGNORE, DRV_REMOVE, NAN, "ignore stop remove")            \
    X(float, coplayers, "f4", 0, DRV_OBJECT_LIMIT, NAN, "") /* below 1: a share of the agents */ \
    X(int32_t, idm_lane_changes, "i4", 0, 1, NAN, "") /* whether rule-based vehicles change lanes */ \
    X(float, idm_handback_m, "f4", 0, 1000, NAN, "") /* 0: never */                            \
    X(float, idm_min_gap_m, "f4", 0, 1000, NAN, "") /* to the vehicle ahead, at rest */        \
    X(float, idm_headway_s, "f4", 0, 1000, NAN, "") /* that a moving vehicle adds to the gap */ \
    X(float, idm_acceleration_mps2, "f4", 1e-2, 100, NAN, "") /* on a free road, from rest */  \
    X(float, idm_braking_mps2, "f4", 1e-2, 100, NAN, "") /* comfortable deceleration */        \
    X(float, idm_hardest_braking_mps2, "f4", 1e-2, 100, NAN, "") /* at least idm_braking_mps2 */ \
    X(float, idm_speed_factor, "f4", 1e-2, 10, NAN, "") /* of the desired speeds of paths */   \
    X(float, mobil_politeness, "f4", 0, 10, NAN, "") /* weight of what followers lose */       \
    X(float, mobil_threshold_mps2, "f4", 0, 100, NAN, "") /* gain of a lane change */          \
    X(float, mobil_safe_braking_mps2, "f4", 0, 100, NAN, "") /* of the new follower, at most */ \
    X(int32_t, traffic_controls, "i4", 0, 1, NAN, "") /* whether lights and signs have an effect */ \
    X(int32_t, on_red_light, "i4", DRV_IGNORE, DRV_REMOVE, NAN, "ignore stop remove")          \
    X(int32_t, on_stop_sign, "i4", DRV_IGNORE, DRV_REMOVE, NAN, "ignore stop remove")          \
    X(float, stopped_share_limit, "f4", 0, 1, 0, "") /* 0: off */                              \
    X(int32_t, partners, "i4", 0, DRV_SLOT_LIMIT, NAN, "")                                     \
    X(int32_t, roads, "i4", 0, DRV_SLOT_LIMIT, NAN, "")                                        \
    X(int32_t, candidates, "i4", 0, DRV_CANDIDATE_LIMIT, NAN, "")                              \
    X(int32_t, goals, "i4", 0, DRV_GOAL_SLOT_LIMIT, NAN, "")                                   \
    X(int32_t, controls, "i4", 0, DRV_SLOT_LIMIT, NAN, "") /* slots of lights and signs */     \
    X(int32_t, route, "i4", 0, DRV_ROUTE_SLOT_LIMIT, NAN, "") /* slots of points of the route */ \
    X(float, route_spacing_m, "f4", 1e-2, 10000, NAN, "") /* from one of them to the next */   \
    X(int32_t, road_selection, "i4", DRV_ROADS_EXACT, DRV_ROADS_NEAR, NAN, "exact near")       \
    X(int32_t, road_memory_mib, "i4", 0, 1 << 24, NAN, "") /* of the road cache */             \
    X(int32_t, observation_type, "i4", DRV_FLOAT32, DRV_IMAGE, NAN, "float32 float16 index image") \
    X(float, view_radius_m, "f4", 1e-2, 10000, NAN, "")                                        \
    X(int32_t, time_left, "i4", DRV_TIME_LEFT_OFF, DRV_TIME_LEFT_CRITIC, NAN, "off actor critic") \
    X(int32_t, steps_share, "i4", 0, 1, NAN, "") /* whether trial/steps_share is observed */   \
    X(int32_t, critic_observations, "i4", 0, 1, NAN, "") /* whether the array of that name exists */ \
    X(int32_t, action_mask, "i4", 0, 1, NAN, "") /* whether the array of that name exists */ \
    X(int32_t, reward_terms, "i4", 0, 1, NAN, "") /* whether the array of that name exists */   \
    X(int32_t, reveal_hidden, "i4", 0, 1, NAN, "")                                             \
    X(int32_t, image_size, "i4", 1, 4096, NAN, "") /* of the sides, in pixels */               \
    X(float, image_metres_per_pixel, "f4", 1e-3, 1000, NAN, "")                                \
    X(int32_t, image_layers, "i4", 1, (1 << DRV_IMAGE_LAYER_COUNT) - 1, NAN, DRV_IMAGE_LAYERS(DRV_IMAGE_LAYER_NAME)) \
    X(float, disturbance_partner_blindness, "f4", 0, 1, NAN, "")                               \
    X(float, disturbance_phantom_braking, "f4", 0, 1, NAN, "")                                 \
    X(float, disturbance_trigger_probability, "f4", 0, 1, NAN, "")                             \
    X(float, disturbance_duration_s, "f4", 0, 1000, NAN, "") /* at least one step */           \
    X(float, sensor_partner_position_noise_m, "f4", 0, 1000, NAN, "")                          \
    X(float, sensor_partner_heading_noise_rad, "f4", 0, 10, NAN, "")                           \
    X(float, sensor_partner_speed_noise_mps, "f4", 0, DRV_SPEED_LIMIT_MPS, NAN, "")            \
    X(float, sensor_partner_dropout, "f4", 0, 1, NAN, "")                                      \
    X(float, sensor_road_position_noise_m, "f4", 0, 1000, NAN, "")                             \
    X(float, sensor_road_heading_noise_rad, "f4", 0, 10, NAN, "")                              \
    X(float, sensor_road_dropout, "f4", 0, 1, NAN, "")                                         \
    X(float, sensor_ego_speed_noise_mps, "f4", 0, DRV_SPEED_LIMIT_MPS, NAN, "")                \
    X(float, sensor_goal_position_noise_m, "f4", 0, 1000, NAN, "")                             \
    X(int32_t, hidden_scope, "i4", DRV_HIDDEN_EPISODE, DRV_HIDDEN_TRIAL, NAN, "episode trial") \
    X(int32_t, hidden_per, "i4", DRV_HIDDEN_PER_AGENT, DRV_HIDDEN_PER_WORLD, NAN, "agent world") \
    X(float, hidden_steering_flip, "f4", 0, 1, NAN, "") /* probability that the sign of steering_gain flips */ \
    X(int32_t, draw_reward_weights, "i4", 0, 1, NAN, "") /* of the terms that have a range */  \
    X(int32_t, detailed_metrics, "i4", 0, 1, NAN, "")                                          \
    X(int32_t, scene_order, "i4", DRV_ORDER_RANDOM, DRV_ORDER_CYCLE, NAN, "random cycle")      \
    X(int32_t, restart, "i4", DRV_RESTART_AUTO, DRV_RESTART_CALLER, NAN, "auto caller")        \
    X(double, log_ema_alpha, "f8", 0, 1, NAN, "") /* double, since near 1 an update is below float32's precision */

/* The arrays of a scene, as drv_scene_create reads them.
 *
 * X(type, name, numpy type, element, lowest, highest)
 *
 * An array has one entry per element: VEHICLES in the order agents, log-replay vehicles, rule-based vehicles, static
 * vehicles; STARTS, the vehicles again, where the entries of vehicles with a log are not read; AGENTS; GOAL_HEADINGS,
 * the agents where has_goal_headings is 1, else none, of which OWN_GOAL_HEADINGS are read only if goal_has_heading is
 * 1; LISTED, goals of lists, whose LISTED_HEADINGS are read only if listed_has_heading is 1; LISTS, one per agent, with
 * agents + 1 LIST_STARTS, or none where no goal is listed; CANDIDATES, of goals; LOG, frame_count x the log-replay and
 * rule-based vehicles, where numbers are read only if log_valid is 1; AGENT_LOG, agent_log_frames x the agents,
 * likewise; SCRIPTS, scripted vehicles, whose SCRIPT_LINES have four numbers each; ROADS; POINTS; LINKS, pairs of a
 * lane and a successor. POINT_STARTS and LINK_STARTS have road_count + 1 entries.
 *
 * The HEIGHTS of points, starts, goals, listed goals, candidates, log entries and controls are read only if has_height
 * is 1; those of vehicles are heights of the road under them.
 *
 * CONTROLS are traffic lights and signs, whose LINE_ENDS have four numbers each; CONTROLLED, pairs of a control and a
 * lane; PHASES of all lights; CONTROL_LOG, frame_count x control_count. CONTROL_STARTS have control_count + 1
 * entries, or none where there are no controls. Both ends of a range are allowed. */
#define DRV_SCENE_ARRAYS(X) DRV_SCENE_COPIED(X) DRV_SCENE_CONVERTED(X)

/* Those that a scene holds as they are, under the same names. */
#define DRV_SCENE_COPIED(X)                                                                           \
    X(uint8_t, kind, "u1", VEHICLES, DRV_OBJECT_VEHICLE, DRV_OBJECT_OTHER) /* drv_object_kind */      \
    X(float, length_m, "f4", VEHICLES, DRV_SIZE_LOWEST_M, DRV_SIZE_LIMIT_M)                           \
    X(float, width_m, "f4", VEHICLES, DRV_SIZE_LOWEST_M, DRV_SIZE_LIMIT_M)                            \
    X(float, goal_x_m, "f4", AGENTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                 \
    X(float, goal_y_m, "f4", AGENTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                 \
    X(uint8_t, goal_has_heading, "u1", GOAL_HEADINGS, 0, 1) /* 0: it has that of its lane */          \
    /* The goals of agent i after its first one are those from listed_start[i] to listed_start[i + 1]; if they repeat, \
     * the first of them follows the last one again. Without any, goals follow along the lanes. */    \
    X(int32_t, listed_start, "i4", LIST_STARTS, 0, DRV_LISTED_AND_OWN_LIMIT)                          \
    X(uint8_t, listed_repeats, "u1", LISTS, 0, 1)                                                     \
    X(float, listed_x_m, "f4", LISTED, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)               \
    X(float, listed_y_m, "f4", LISTED, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)               \
    X(float, listed_z_m, "f4", LISTED_HEIGHTS, -DRV_GROUND_LIMIT_M, DRV_GROUND_LIMIT_M)               \
    X(uint8_t, listed_has_heading, "u1", LISTED, 0, 1)                                                \
    /* The goals of which each episode draws that of an agent; without any, it is the agent's own. */  \
    X(float, candidate_x_m, "f4", CANDIDATES, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)        \
    X(float, candidate_y_m, "f4", CANDIDATES, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)        \
    X(float, start_z_m, "f4", START_HEIGHTS, -DRV_GROUND_LIMIT_M, DRV_GROUND_LIMIT_M)                 \
    X(float, goal_z_m, "f4", GOAL_HEIGHTS, -DRV_GROUND_LIMIT_M, DRV_GROUND_LIMIT_M)                   \
    X(float, candidate_z_m, "f4", CANDIDATE_HEIGHTS, -DRV_GROUND_LIMIT_M, DRV_GROUND_LIMIT_M)         \
    X(float, log_z_m, "f4", LOG_HEIGHTS, -DRV_GROUND_LIMIT_M, DRV_GROUND_LIMIT_M)                     \
    X(uint8_t, log_valid, "u1", LOG, 0, 1) /* 1 where the vehicle is on the map */                    \
    /* A scripted vehicle is a log-replay vehicle that exists only in the episodes that draw its option, one \
     * of the `script_options` of its group. Its log waits in frame 0 until an agent crosses its line: x, y \
     * of the left end, then of the right end, as the agent sees it. */                               \
    X(int32_t, script_vehicle, "i4", SCRIPTS, 0, DRV_OBJECT_LIMIT)                                    \
    X(int32_t, script_group, "i4", SCRIPTS, 0, DRV_OBJECT_LIMIT)                                      \
    X(int32_t, script_option, "i4", SCRIPTS, 0, DRV_OBJECT_LIMIT)                                     \
    X(int32_t, script_options, "i4", SCRIPTS, 1, DRV_OBJECT_LIMIT)                                    \
    X(float, script_line_m, "f4", SCRIPT_LINES, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)      \
    /* Where agents drove in the log, from frame 0 on. */                                             \
    X(uint8_t, agent_log_valid, "u1", AGENT_LOG, 0, 1)                                                \
    X(float, agent_log_x_m, "f4", AGENT_LOG, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)         \
    X(float, agent_log_y_m, "f4", AGENT_LOG, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)         \
    X(uint8_t, road_kind, "u1", ROADS, DRV_ROAD_LANE, DRV_ROAD_DRIVEWAY) /* drv_road_kind */          \
    X(float, road_width_m, "f4", ROADS, 0, DRV_LANE_WIDTH_LIMIT_M) /* lane width; 0 unknown */        \
    X(float, road_speed_limit_mps, "f4", ROADS, 0, DRV_SPEED_LIMIT_MPS) /* 0 unknown */               \
    X(uint8_t, control_kind, "u1", CONTROLS, DRV_TRAFFIC_LIGHT, DRV_YIELD_SIGN) /* drv_traffic_control */ \
    /* x, y of the left end of the stop line, then of its right end, as approaching traffic sees it */ \
    X(float, control_line_m, "f4", LINE_ENDS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)        \
    X(float, control_z_m, "f4", CONTROL_HEIGHTS, -DRV_GROUND_LIMIT_M, DRV_GROUND_LIMIT_M)             \
    /* Control i applies to the lanes control_lane[control_start[i]] to [control_start[i + 1]]. */    \
    X(int32_t, control_start, "i4", CONTROL_STARTS, 0, DRV_POINT_LIMIT)                               \
    X(int32_t, control_lane, "i4", CONTROLLED, 0, DRV_POINT_LIMIT)                                    \
    X(uint8_t, control_state, "u1", CONTROL_LOG, DRV_LIGHT_OFF, DRV_LIGHT_GREEN) /* drv_light */      \
    /* Light i runs the phases control_phase_start[i] to [i + 1]; without any it shows control_state. */ \
    X(int32_t, control_phase_start, "i4", CONTROL_STARTS, 0, DRV_POINT_LIMIT)                         \
    X(uint8_t, control_phase_state, "u1", PHASES, DRV_LIGHT_OFF, DRV_LIGHT_GREEN)                     \
    X(int32_t, control_junction, "i4", CONTROLS, -1, DRV_TRAFFIC_CONTROL_LIMIT) /* -1: no offset is drawn */

/* Those that it holds in another form. */
#define DRV_SCENE_CONVERTED(X)                                                                        \
    X(float, start_x_m, "f4", STARTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                \
    X(float, start_y_m, "f4", STARTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                \
    X(float, start_heading_rad, "f4", STARTS, -DRV_HEADING_LIMIT_RAD, DRV_HEADING_LIMIT_RAD)          \
    /* Headings of goals are read only where a goal has its own; the scene keeps their unit vectors. */ \
    X(float, goal_heading_rad, "f4", OWN_GOAL_HEADINGS, -DRV_HEADING_LIMIT_RAD, DRV_HEADING_LIMIT_RAD) \
    X(float, listed_heading_rad, "f4", LISTED_HEADINGS, -DRV_HEADING_LIMIT_RAD, DRV_HEADING_LIMIT_RAD) \
    /* Of a start velocity, the scene keeps the part along the heading. */                            \
    X(float, start_vx_mps, "f4", STARTS, -DRV_SPEED_LIMIT_MPS, DRV_SPEED_LIMIT_MPS)                   \
    X(float, start_vy_mps, "f4", STARTS, -DRV_SPEED_LIMIT_MPS, DRV_SPEED_LIMIT_MPS)                   \
    X(float, log_x_m, "f4", LOG, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                     \
    X(float, log_y_m, "f4", LOG, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                     \
    X(float, log_heading_rad, "f4", LOG, -DRV_HEADING_LIMIT_RAD, DRV_HEADING_LIMIT_RAD)               \
    X(float, log_vx_mps, "f4", LOG, -DRV_SPEED_LIMIT_MPS, DRV_SPEED_LIMIT_MPS)                        \
    X(float, log_vy_mps, "f4", LOG, -DRV_SPEED_LIMIT_MPS, DRV_SPEED_LIMIT_MPS)                        \
    /* Road i is points road_start[i] to road_start[i + 1]. */                                        \
    X(int32_t, road_start, "i4", POINT_STARTS, 0, DRV_POINT_LIMIT)                                    \
    X(float, point_x_m, "f4", POINTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                \
    X(float, point_y_m, "f4", POINTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)                \
    X(float, point_z_m, "f4", POINT_HEIGHTS, -DRV_COORDINATE_LIMIT_M, DRV_COORDINATE_LIMIT_M)         \
    /* The successors of road i are roads lane_successor[lane_start[i]] to [lane_start[i + 1]]. Both  \
     * arrays may be NULL: the scene then has no lane graph, see DRV_SCENE_LANE_GRAPH. */               \
    X(int32_t, lane_start, "i4", LINK_STARTS, 0, DRV_POINT_LIMIT)                                     \
    X(int32_t, lane_successor, "i4", LINKS, 0, DRV_POINT_LIMIT)                                       \
    /* The scene keeps the ends of phases, and the offsets, in whole steps. */                        \
    X(float, control_phase_s, "f4", PHASES, DRV_PHASE_LOWEST_S, DRV_PHASE_LIMIT_S)                    \
    X(float, control_offset_s, "f4", CONTROLS, 0, DRV_OFFSET_LIMIT_S)

#endif
