/* Is this a valid input of drv_scene_create? */
#ifndef DRV_SCENE_INPUT_H
#define DRV_SCENE_INPUT_H

#include "drive.h"

/* How many elements a scene or its input has, by the names of DRV_SCENE_ARRAYS. */
#define DRV_COUNT_VEHICLES(of) ((int64_t)(of)->vehicle_count)
#define DRV_COUNT_STARTS(of) DRV_COUNT_VEHICLES(of)
#define DRV_COUNT_AGENTS(of) ((int64_t)(of)->num_agents)
#define DRV_COUNT_GOAL_HEADINGS(of) ((of)->has_goal_headings ? DRV_COUNT_AGENTS(of) : 0)
#define DRV_COUNT_OWN_GOAL_HEADINGS(of) DRV_COUNT_GOAL_HEADINGS(of)
#define DRV_COUNT_LISTED(of) ((int64_t)(of)->listed_count)
#define DRV_COUNT_LISTED_HEADINGS(of) DRV_COUNT_LISTED(of)
#define DRV_COUNT_LISTS(of) ((of)->listed_count > 0 ? DRV_COUNT_AGENTS(of) : 0)
#define DRV_COUNT_LIST_STARTS(of) ((of)->listed_count > 0 ? DRV_COUNT_AGENTS(of) + 1 : 0)
#define DRV_COUNT_LISTED_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_LISTED(of) : 0)
#define DRV_COUNT_CANDIDATES(of) ((int64_t)(of)->candidate_count)
#define DRV_COUNT_SCRIPTS(of) ((int64_t)(of)->script_count)
#define DRV_COUNT_SCRIPT_LINES(of) (4 * (int64_t)(of)->script_count)
#define DRV_LOG_COLUMNS(of) ((of)->log_replay_count + (of)->rule_based_count)
#define DRV_COUNT_LOG(of) ((int64_t)(of)->frame_count * DRV_LOG_COLUMNS(of))
#define DRV_COUNT_AGENT_LOG(of) ((int64_t)(of)->agent_log_frames * (of)->num_agents)
#define DRV_COUNT_START_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_STARTS(of) : 0)
#define DRV_COUNT_GOAL_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_AGENTS(of) : 0)
#define DRV_COUNT_CANDIDATE_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_CANDIDATES(of) : 0)
#define DRV_COUNT_LOG_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_LOG(of) : 0)
#define DRV_COUNT_CONTROL_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_CONTROLS(of) : 0)
#define DRV_COUNT_POINT_HEIGHTS(of) ((of)->has_height ? DRV_COUNT_POINTS(of) : 0)
#define DRV_COUNT_ROADS(of) ((int64_t)(of)->road_count)
#define DRV_COUNT_POINT_STARTS(of) ((int64_t)(of)->road_count + 1)
#define DRV_COUNT_POINTS(of) ((int64_t)(of)->point_count)
#define DRV_COUNT_LINK_STARTS(of) ((of)->lane_start ? (int64_t)(of)->road_count + 1 : 0)
#define DRV_COUNT_LINKS(of) ((int64_t)(of)->link_count)
#define DRV_COUNT_CONTROLS(of) ((int64_t)(of)->control_count)
#define DRV_COUNT_LINE_ENDS(of) (4 * (int64_t)(of)->control_count)
#define DRV_COUNT_CONTROL_STARTS(of) ((of)->control_count > 0 ? (int64_t)(of)->control_count + 1 : 0)
#define DRV_COUNT_CONTROLLED(of) ((int64_t)(of)->controlled_count)
#define DRV_COUNT_CONTROL_LOG(of) ((int64_t)(of)->frame_count * (of)->control_count)
#define DRV_COUNT_PADDED_CONTROLS(of) ((of)->control_count > 0 ? (int64_t)(of)->control_count + DRV_SIMD_PAD : 0)
#define DRV_COUNT_PHASES(of) ((int64_t)(of)->phase_count)

/* Checks every count, then every number that the scene will hold. The sentence names the scene, the array, the element,
 * the value and the range. */
drv_status drv_scene_input_check(const drv_scene_input *in, char *message);

#endif
