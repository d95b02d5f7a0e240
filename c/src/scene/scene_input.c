/* Is this a valid input of drv_scene_create? Checks by the ranges of DRV_SCENE_ARRAYS. */
#include "scene/scene_input.h"

#include "platform/error.h"
#include "scene/lanes.h"
#include "scene/scene.h"

#define X(type, name, letter, element, low, high) {#name, letter},
static const drv_scene_array_field fields[] = {DRV_SCENE_ARRAYS(X)};
#undef X

int32_t drv_scene_array_fields(drv_scene_array_field *out, int32_t capacity) {
    const int32_t count = (int32_t)(sizeof fields / sizeof *fields);
    for (int32_t i = 0; i < count && i < capacity; i++) out[i] = fields[i];
    return count;
}

/* Holds the first error; later checks do nothing. */
typedef struct checker {
    const char *name;
    char *message;
    drv_status status;
} checker;

static void check_count(checker *check, const char *what, int64_t found, int64_t low, int64_t high) {
    if (check->status == DRV_OK && (found < low || found > high))
        check->status = drv_fail(check->message, DRV_ERROR_SCENE, "scene %.80s: %s is %lld; it must be %lld to %lld",
                                 check->name, what, (long long)found, (long long)low, (long long)high);
}

/* ---- arrays ---- */

/* Which entries of an array the scene reads, and so are checked. */
typedef struct elements {
    const char *noun; /* for the sentence of an error */
    int64_t count;
    int64_t skipped_first, skipped_end; /* entries of log-replay and rule-based vehicles, which have no start */
    const uint8_t *valid;               /* of the log, or NULL: only valid entries are read */
} elements;

#define ELEMENTS_VEHICLES(in) {"vehicle", DRV_COUNT_VEHICLES(in), 0, 0, NULL}
#define ELEMENTS_STARTS(in) \
    {"vehicle", DRV_COUNT_STARTS(in), (in)->num_agents, (in)->num_agents + DRV_LOG_COLUMNS(in), NULL}
#define ELEMENTS_AGENTS(in) {"agent", DRV_COUNT_AGENTS(in), 0, 0, NULL}
#define ELEMENTS_GOAL_HEADINGS(in) {"agent", DRV_COUNT_GOAL_HEADINGS(in), 0, 0, NULL}
#define ELEMENTS_OWN_GOAL_HEADINGS(in) {"agent", DRV_COUNT_OWN_GOAL_HEADINGS(in), 0, 0, (in)->goal_has_heading}
#define ELEMENTS_LISTED(in) {"listed goal", DRV_COUNT_LISTED(in), 0, 0, NULL}
#define ELEMENTS_LISTED_HEADINGS(in) {"listed goal", DRV_COUNT_LISTED_HEADINGS(in), 0, 0, (in)->listed_has_heading}
#define ELEMENTS_LISTS(in) {"agent", DRV_COUNT_LISTS(in), 0, 0, NULL}
#define ELEMENTS_LIST_STARTS(in) {"entry", DRV_COUNT_LIST_STARTS(in), 0, 0, NULL}
#define ELEMENTS_LISTED_HEIGHTS(in) {"listed goal", DRV_COUNT_LISTED_HEIGHTS(in), 0, 0, NULL}
#define ELEMENTS_CANDIDATES(in) {"candidate goal", DRV_COUNT_CANDIDATES(in), 0, 0, NULL}
#define ELEMENTS_SCRIPTS(in) {"script", DRV_COUNT_SCRIPTS(in), 0, 0, NULL}
#define ELEMENTS_SCRIPT_LINES(in) {"number", DRV_COUNT_SCRIPT_LINES(in), 0, 0, NULL}
#define ELEMENTS_LOG(in) {"log entry", DRV_COUNT_LOG(in), 0, 0, (in)->log_valid}
#define ELEMENTS_AGENT_LOG(in) {"agent log entry", DRV_COUNT_AGENT_LOG(in), 0, 0, (in)->agent_log_valid}
#define ELEMENTS_START_HEIGHTS(in) \
    {"vehicle", DRV_COUNT_START_HEIGHTS(in), (in)->num_agents, (in)->num_agents + DRV_LOG_COLUMNS(in), NULL}
#define ELEMENTS_GOAL_HEIGHTS(in) {"agent", DRV_COUNT_GOAL_HEIGHTS(in), 0, 0, NULL}
#define ELEMENTS_CANDIDATE_HEIGHTS(in) {"candidate goal", DRV_COUNT_CANDIDATE_HEIGHTS(in), 0, 0, NULL}
#define ELEMENTS_LOG_HEIGHTS(in) {"log entry", DRV_COUNT_LOG_HEIGHTS(in), 0, 0, (in)->log_valid}
#define ELEMENTS_CONTROL_HEIGHTS(in) {"control", DRV_COUNT_CONTROL_HEIGHTS(in), 0, 0, NULL}
#define ELEMENTS_POINT_HEIGHTS(in) {"point", DRV_COUNT_POINT_HEIGHTS(in), 0, 0, NULL}
#define ELEMENTS_ROADS(in) {"road", DRV_COUNT_ROADS(in), 0, 0, NULL}
#define ELEMENTS_POINT_STARTS(in) {"entry", DRV_COUNT_POINT_STARTS(in), 0, 0, NULL}
#define ELEMENTS_LINK_STARTS(in) {"entry", DRV_COUNT_LINK_STARTS(in), 0, 0, NULL}
#define ELEMENTS_LINKS(in) {"link", DRV_COUNT_LINKS(in), 0, 0, NULL}
#define ELEMENTS_POINTS(in) {"point", DRV_COUNT_POINTS(in), 0, 0, NULL}
#define ELEMENTS_CONTROLS(in) {"control", DRV_COUNT_CONTROLS(in), 0, 0, NULL}
#define ELEMENTS_LINE_ENDS(in) {"number", DRV_COUNT_LINE_ENDS(in), 0, 0, NULL}
#define ELEMENTS_CONTROL_STARTS(in) {"entry", DRV_COUNT_CONTROL_STARTS(in), 0, 0, NULL}
#define ELEMENTS_CONTROLLED(in) {"entry", DRV_COUNT_CONTROLLED(in), 0, 0, NULL}
#define ELEMENTS_CONTROL_LOG(in) {"entry", DRV_COUNT_CONTROL_LOG(in), 0, 0, NULL}
#define ELEMENTS_PHASES(in) {"phase", DRV_COUNT_PHASES(in), 0, 0, NULL}

static void check_float(checker *check, const char *array, elements of, const float *values, double low, double high) {
    for (int64_t i = 0; check->status == DRV_OK && i < of.count; i++) {
        if (of.valid && !of.valid[i]) continue;
        if (i >= of.skipped_first && i < of.skipped_end) continue;
        if (!(values[i] >= (float)low && values[i] <= (float)high))
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: %s of %s %lld is %.9g; it must be %g to %g", check->name, array,
                                     of.noun, (long long)i, (double)values[i], low, high);
    }
}

static void check_int(checker *check, const char *array, elements of, int64_t i, int value, int low, int high) {
    if (value < low || value > high)
        check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                 "scene %.80s: %s of %s %lld is %d; it must be %d to %d", check->name, array, of.noun,
                                 (long long)i, value, low, high);
}

static void check_uint8_t(checker *check, const char *array, elements of, const uint8_t *codes, int low, int high) {
    for (int64_t i = 0; check->status == DRV_OK && i < of.count; i++)
        check_int(check, array, of, i, codes[i], low, high);
}

static void check_int32_t(checker *check, const char *array, elements of, const int32_t *values, int low, int high) {
    for (int64_t i = 0; check->status == DRV_OK && i < of.count; i++)
        check_int(check, array, of, i, values[i], low, high);
}

/* road_start divides the points among the roads; each has at least one. */
static void check_roads(checker *check, const drv_scene_input *in) {
    if (check->status != DRV_OK) return;
    if (in->road_start[0] != 0 || in->road_start[in->road_count] != in->point_count)
        check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                 "scene %.80s: road_start runs from %d to %d; it must run from 0 to %d", check->name,
                                 in->road_start[0], in->road_start[in->road_count], in->point_count);
    for (int32_t i = 0; check->status == DRV_OK && i < in->road_count; i++)
        if (in->road_start[i + 1] <= in->road_start[i])
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: road %d has %d points; it must have at least 1", check->name, i,
                                     in->road_start[i + 1] - in->road_start[i]);
}

/* `start` divides `total` entries among the owners, controls or agents; it is not read where there are none. */
static void check_starts(checker *check, const char *array, const int32_t *start, int32_t owners, int32_t total) {
    if (check->status != DRV_OK || owners == 0) return;
    if (start[0] != 0 || start[owners] != total)
        check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                 "scene %.80s: %s runs from %d to %d; it must run from 0 to %d", check->name, array,
                                 start[0], start[owners], total);
    for (int32_t i = 0; check->status == DRV_OK && i < owners; i++)
        if (start[i + 1] < start[i])
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: %s of entry %d is %d after %d; it must not descend", check->name,
                                     array, i + 1, start[i + 1], start[i]);
}

/* Controls apply to lanes, and refer to junctions by indices of controls. */
static void check_controls(checker *check, const drv_scene_input *in) {
    check_starts(check, "control_start", in->control_start, in->control_count, in->controlled_count);
    check_starts(check, "control_phase_start", in->control_phase_start, in->control_count, in->phase_count);
    for (int32_t i = 0; check->status == DRV_OK && i < in->controlled_count; i++) {
        const int32_t road = in->control_lane[i];
        if (road >= in->road_count || in->road_kind[road] != DRV_ROAD_LANE)
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: control_lane of entry %d is %d; it must be the index of a lane",
                                     check->name, i, road);
    }
    for (int32_t i = 0; check->status == DRV_OK && i < in->control_count; i++)
        if (in->control_junction[i] >= in->control_count)
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: control_junction of control %d is %d; it must be below %d",
                                     check->name, i, in->control_junction[i], in->control_count);
}

/* Scripts are in the order of their vehicles, which replay logs; the option of each is one of its group. */
static void check_scripts(checker *check, const drv_scene_input *in) {
    int32_t lowest = in->num_agents; /* the first vehicle that a script may have */
    const int32_t highest = in->num_agents + in->log_replay_count - 1;
    for (int32_t i = 0; check->status == DRV_OK && i < in->script_count; i++) {
        const int32_t vehicle = in->script_vehicle[i], option = in->script_option[i];
        if (vehicle < lowest || vehicle > highest)
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: script_vehicle of script %d is %d; it must be a log-replay vehicle "
                                     "from %d to %d", check->name, i, vehicle, lowest, highest);
        else if (option >= in->script_options[i])
            check->status = drv_fail(check->message, DRV_ERROR_SCENE,
                                     "scene %.80s: script_option of script %d is %d; it must be below %d", check->name,
                                     i, option, in->script_options[i]);
        lowest = vehicle + 1;
    }
}

drv_status drv_scene_input_check(const drv_scene_input *in, char *message) {
    /* the counts, on which all else depends */
    checker check = {in->name, message, DRV_OK};
    check_count(&check, "vehicle_count", in->vehicle_count, 1, DRV_VEHICLE_LIMIT);
    check_count(&check, "num_agents", in->num_agents, 1, in->vehicle_count);
    check_count(&check, "log_replay_count", in->log_replay_count, 0, (int64_t)in->vehicle_count - in->num_agents);
    check_count(&check, "rule_based_count", in->rule_based_count, 0,
                (int64_t)in->vehicle_count - in->num_agents - in->log_replay_count);
    check_count(&check, "candidate_count", in->candidate_count, 0, DRV_CANDIDATE_LIMIT);
    check_count(&check, "listed_count", in->listed_count, 0, DRV_LISTED_AND_OWN_LIMIT);
    check_count(&check, "script_count", in->script_count, 0, in->log_replay_count);
    check_count(&check, "frame_count", in->frame_count, 1, DRV_FRAME_LIMIT);
    check_count(&check, "agent_log_frames", in->agent_log_frames, 0, in->frame_count);
    check_count(&check, "has_lane_changes", in->has_lane_changes, 0, in->lane_start != NULL);
    check_count(&check, "has_routes", in->has_routes, 0, in->lane_start != NULL);
    check_count(&check, "has_goal_headings", in->has_goal_headings, 0, 1);
    check_count(&check, "has_height", in->has_height, 0, 1);
    check_count(&check, "trial_steps", in->trial_steps, 1, DRV_FRAME_LIMIT);
    check_count(&check, "road_count", in->road_count, 0, DRV_POINT_LIMIT);
    check_count(&check, "point_count", in->point_count, 0, DRV_POINT_LIMIT);
    check_count(&check, "link_count", in->link_count, 0, in->lane_start ? DRV_POINT_LIMIT : 0);
    check_count(&check, "control_count", in->control_count, 0, DRV_TRAFFIC_CONTROL_LIMIT);
    check_count(&check, "controlled_count", in->controlled_count, 0, in->control_count ? DRV_POINT_LIMIT : 0);
    check_count(&check, "phase_count", in->phase_count, 0, in->control_count ? DRV_POINT_LIMIT : 0);
    if (check.status != DRV_OK) return check.status;
    if (!(in->dt_s >= (float)DRV_DT_LOWEST_S && in->dt_s <= (float)DRV_DT_HIGHEST_S))
        return drv_fail(message, DRV_ERROR_SCENE, "scene %.80s: dt_s is %.9g; it must be %g to %g", in->name,
                        (double)in->dt_s, DRV_DT_LOWEST_S, DRV_DT_HIGHEST_S);

    /* the arrays, then how they refer to each other */
#define X(type, name, letter, element, low, high) \
    check_##type(&check, #name, (elements)ELEMENTS_##element(in), in->name, low, high);
    DRV_SCENE_ARRAYS(X)
#undef X
    check_roads(&check, in);
    check_starts(&check, "listed_start", in->listed_start, (int32_t)DRV_COUNT_LISTS(in), in->listed_count);
    check_controls(&check, in);
    check_scripts(&check, in);
    return check.status == DRV_OK && in->lane_start ? drv_lanes_check(in, message) : check.status;
}
