/* Is a setup valid, and how much memory does its batch need? These checks at the API boundary are why phases cannot
 * fail. */
#include <math.h>
#include <stddef.h>

#include "batch/batch.h"
#include "math/simd_pad.h"
#include "platform/error.h"
#include "step/columns.h"
#include "view/action_space.h"
#include "view/critic.h"
#include "view/disturbances.h"
#include "view/hidden.h"
#include "view/image.h"
#include "view/layout.h"
#include "view/sensors.h"
#include "view/weights.h"

/* A tebibyte: a setup whose state is larger is a mistake. */
static const uint64_t block_limit_bytes = (uint64_t)1 << 40;

/* ---- config ---- */

static const drv_config_field config_fields[] = {
#define X(type, name, letter, low, high, none, choices) \
    {#name, letter, choices, low, high, none, (int32_t)offsetof(drv_config, name)},
    DRV_CONFIG(X)
#undef X
/* Both ends of a range that does not vary are 0; drv_hidden_check has the narrower limits of those that do. */
#define X(symbol, name, neutral, lowest, highest, meaning)                                                      \
    {"hidden_" #name "_low", "f4", "", -(highest), highest, 0, (int32_t)offsetof(drv_config, hidden_##name##_low)}, \
    {"hidden_" #name "_high", "f4", "", -(highest), highest, 0, (int32_t)offsetof(drv_config, hidden_##name##_high)},
    DRV_HIDDEN(X)
#undef X
#define X(symbol, name, weight, when, shown) \
    {#weight, "f4", "", -DRV_REWARD_LIMIT, DRV_REWARD_LIMIT, NAN, (int32_t)offsetof(drv_config, weight)},         \
    {"range_" #weight "_low", "f4", "", -DRV_REWARD_LIMIT, DRV_REWARD_LIMIT, 0,                                   \
     (int32_t)offsetof(drv_config, range_##weight##_low)},                                                        \
    {"range_" #weight "_high", "f4", "", -DRV_REWARD_LIMIT, DRV_REWARD_LIMIT, 0,                                  \
     (int32_t)offsetof(drv_config, range_##weight##_high)},
    DRV_REWARD_TERMS(X)
#undef X
};

enum { config_field_count = sizeof config_fields / sizeof *config_fields };

int32_t drv_config_fields(drv_config_field *out, int32_t capacity) {
    for (int32_t i = 0; i < config_field_count && i < capacity; i++) out[i] = config_fields[i];
    return config_field_count;
}

static double value_of(const drv_config *config, const drv_config_field *field) {
    const void *at = (const uint8_t *)config + field->offset;
    if (field->type[0] == 'i') return *(const int32_t *)at;
    return field->type[1] == '4' ? (double)*(const float *)at : *(const double *)at;
}

static drv_status check_range(const char *name, double found, double low, double high, char *message) {
    if (found >= low && found <= high) return DRV_OK;
    return drv_fail(message, DRV_ERROR_CONFIG, "%s is %.17g; it must be in %g to %g", name, found, low, high);
}

drv_status drv_batch_check_config(const drv_config *config, char *message) {
    /* each member by itself */
    drv_status status = DRV_OK;
    for (int32_t i = 0; status == DRV_OK && i < config_field_count; i++) {
        const drv_config_field *field = &config_fields[i];
        status = check_range(field->name, value_of(config, field), field->low, field->high, message);
    }

    /* those that other members rule out */
    if (status == DRV_OK && !(drv_action_types_of(config->dynamics) >> config->action_type & 1))
        return drv_fail(message, DRV_ERROR_CONFIG, "action_type is %d; with dynamics %d it must be %d, continuous",
                        config->action_type, config->dynamics, DRV_CONTINUOUS);
    if (status == DRV_OK && config->observation_type == DRV_INDEX && config->candidates > 0)
        return drv_fail(message, DRV_ERROR_CONFIG, "candidates is %d; in index observations it must be 0",
                        config->candidates);
    if (status == DRV_OK && config->observation_type == DRV_INDEX && config->goals > 0)
        return drv_fail(message, DRV_ERROR_CONFIG, "goals is %d; in index observations it must be 0", config->goals);
    if (status == DRV_OK && config->observation_type == DRV_INDEX && config->route > 0)
        return drv_fail(message, DRV_ERROR_CONFIG, "route is %d; in index observations it must be 0", config->route);
    if (status == DRV_OK && config->on_goal != DRV_NEXT && config->goals > 1)
        return drv_fail(message, DRV_ERROR_CONFIG, "goals is %d; with on_goal %d it must be 0 or 1", config->goals,
                        config->on_goal);
    if (status == DRV_OK && config->goals == 0 && config->goal_heading_tolerance_rad >= 0.0f)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "goal_heading_tolerance_rad is %g; with goals 0, where the heading of the goal is not "
                        "observed, it must be below 0",
                        (double)config->goal_heading_tolerance_rad);
    if (status == DRV_OK && config->on_goal < DRV_NEXT && config->max_goals > 0)
        return drv_fail(message, DRV_ERROR_CONFIG, "max_goals is %d; with on_goal %d it must be 0", config->max_goals,
                        config->on_goal);
    if (status == DRV_OK && config->time_left == DRV_TIME_LEFT_CRITIC && !config->critic_observations)
        return drv_fail(message, DRV_ERROR_CONFIG, "time_left is %d; without critic_observations it must be 0 or 1",
                        config->time_left);
    if (status == DRV_OK && config->goal_reveal_share > 0.0f && config->goal_reveal_s < 0.0f)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "goal_reveal_share is %g; with goal_reveal_s %g, where goals are always observed, it must be 0",
                        (double)config->goal_reveal_share, (double)config->goal_reveal_s);
    if (status == DRV_OK && config->controls > 0 && !config->traffic_controls)
        return drv_fail(message, DRV_ERROR_CONFIG, "controls is %d; without traffic_controls it must be 0",
                        config->controls);
    if (status == DRV_OK && config->action_mask &&
        (!drv_action_mask_is_offered(config->dynamics) || config->action_type == DRV_CONTINUOUS ||
         config->hidden_action_delay_steps_high > 0.0f))
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "action_mask is %d; it must be 0 unless actions are discrete accelerations without delay",
                        config->action_mask);
    if (status == DRV_OK && config->idm_hardest_braking_mps2 < config->idm_braking_mps2)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "idm_hardest_braking_mps2 is %g; it must be at least idm_braking_mps2, %g",
                        (double)config->idm_hardest_braking_mps2, (double)config->idm_braking_mps2);
    if (status == DRV_OK) status = drv_weights_check(config, message);
    if (status == DRV_OK) status = drv_sensors_check(config, message);
    if (status == DRV_OK) status = drv_image_check(config, message);
    if (status == DRV_OK) status = drv_disturbances_check(config, message);
    return status == DRV_OK ? drv_hidden_check(config, message) : status;
}

/* ---- setup ---- */

/* Far more scenes than fit in memory. */
enum { scene_limit = 1 << 24 };

static drv_status check_counts(const drv_batch_setup *setup, char *message) {
    const int32_t worlds = setup->num_worlds, part_limit = worlds < DRV_PART_LIMIT ? worlds : DRV_PART_LIMIT;
    const struct {
        const char *name;
        int32_t found, low, high;
    } counts[] = {{"worlds", worlds, 1, DRV_WORLD_LIMIT},
                  {"scenes", setup->scene_count, 1, scene_limit},
                  {"threads", setup->thread_count, 1, DRV_THREAD_LIMIT},
                  {"parts", setup->part_count, 0, part_limit},
                  {"trial_records", setup->record_capacity, 0, DRV_RECORD_LIMIT},
                  {"agents_per_world", setup->agents_per_world, 1, DRV_VEHICLE_LIMIT}};
    drv_status status = DRV_OK;
    for (size_t i = 0; status == DRV_OK && i < sizeof counts / sizeof *counts; i++)
        status = check_range(counts[i].name, counts[i].found, counts[i].low, counts[i].high, message);
    return status;
}

/* Returns the name of a supported instruction set, or `before` if that is not empty; "" past the last set. */
static const char *set_name(int32_t index, const char *before) {
    const char *name = drv_kernels_offered(index);
    return !name ? "" : before[0] ? before : name;
}

static drv_status check_instruction_set(const drv_batch_setup *setup, char *message) {
    if (drv_kernels_choose(setup->instruction_set)) return DRV_OK;
    return drv_fail(message, DRV_ERROR_CONFIG, "the instruction set is %.40s; this processor offers %s%s%s%s%s",
                    setup->instruction_set, set_name(0, ""), set_name(1, ", "), set_name(1, ""), set_name(2, ", "),
                    set_name(2, ""));
}

static drv_status check_world_ids(const drv_batch_setup *setup, char *message) {
    for (int32_t i = 0; i < setup->num_worlds; i++)
        if (setup->world_ids[i] < 0)
            return drv_fail(message, DRV_ERROR_CONFIG, "world id %d is %lld; it must be 0 or above", i,
                            (long long)setup->world_ids[i]);
    return DRV_OK;
}

static drv_status check_scene(const drv_batch_setup *setup, const drv_scene *scene, char *message) {
    /* its agents */
    const drv_config *config = &setup->config;
    if (scene->num_agents > setup->agents_per_world)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s has %d agents; it must be at most agents_per_world, %d", scene->name,
                        scene->num_agents, setup->agents_per_world);
    /* a share leaves an ego in every scene; no arithmetic: the floating-point environment is still the caller's */
    if (config->coplayers >= 1.0f && config->coplayers >= (float)scene->num_agents)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "coplayers is %g; scene %.80s has %d agents, one of which must be no co-player, so it must be "
                        "at most %d", (double)config->coplayers, scene->name, scene->num_agents, scene->num_agents - 1);

    /* what observations refer to, and their slots for all candidate goals */
    if (config->observation_type == DRV_INDEX && scene->segments.count > DRV_INDEX_LIMIT)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s has %d road segments; index observations can name at most %d", scene->name,
                        scene->segments.count, DRV_INDEX_LIMIT);
    if (config->observation_type == DRV_INDEX && drv_scene_record_count(scene, config) > DRV_INDEX_LIMIT)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s has %d road segments and %d traffic lights and signs; index observations can name "
                        "at most %d records, one per segment and %d per light or sign", scene->name,
                        scene->segments.count, scene->control_count, DRV_INDEX_LIMIT, DRV_LIGHT_STATES);
    if (config->candidates > 0 && scene->candidate_count > config->candidates)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "observation.candidates is %d; scene %.80s has %d candidate goals, so it must be 0 or %d to %d",
                        config->candidates, scene->name, scene->candidate_count, scene->candidate_count,
                        DRV_CANDIDATE_LIMIT);
    return DRV_OK;
}

/* Checks that the scene has the parts that the config needs. */
static drv_status check_parts(const drv_scene *scene, int32_t parts, char *message) {
    if (parts & DRV_SCENE_AGENT_LOGS && scene->agent_log_frames == 0)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s was created with agent_log_frames 0; where a term of the reward is the distance "
                        "to the log, it must be 1 to %d", scene->name, scene->frame_count);
    if (parts & DRV_SCENE_ROUTES && scene->routes.count == 0)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s was created with has_routes 0; where a term of the reward is the progress along "
                        "the route, critic_observations is 1, or route is above 0, it must be 1", scene->name);
    if (parts & DRV_SCENE_LANE_GRAPH && !scene->lanes.point_start)
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s was created without lane_start; where on_goal is next, or goals is above 0, it "
                        "must be given", scene->name);
    if (parts & DRV_SCENE_LANE_CHANGES && scene->paths.point_count > 0 && !scene->neighbours.offset_m[DRV_LEFT])
        return drv_fail(message, DRV_ERROR_SCENE,
                        "scene %.80s was created with has_lane_changes 0; where idm_lane_changes is 1, it must be 1",
                        scene->name);
    return DRV_OK;
}

static drv_status check_setup(const drv_batch_setup *setup, char *message) {
    drv_status status = check_counts(setup, message);
    if (status == DRV_OK) status = drv_batch_check_config(&setup->config, message);
    if (status == DRV_OK) status = check_instruction_set(setup, message);
    if (status == DRV_OK) status = check_world_ids(setup, message);
    for (int32_t i = 0; status == DRV_OK && i < setup->scene_count; i++)
        status = check_scene(setup, setup->scenes[i], message);
    const int32_t parts = drv_scene_parts_of(&setup->config);
    for (int32_t i = 0; status == DRV_OK && i < setup->scene_count; i++)
        status = check_parts(setup->scenes[i], parts, message);
    return status;
}

/* ---- memory ---- */

static int32_t round_up(int32_t value, int32_t to) { return (value + to - 1) / to * to; }

drv_sizes drv_batch_sizes(const drv_batch_setup *setup) {
    /* the most of any scene */
    int32_t vehicles = setup->agents_per_world, rule_based = 0, controls = 0, scripts = 0;
    bool has_height = false;
    for (int32_t i = 0; i < setup->scene_count; i++) {
        const drv_scene *scene = setup->scenes[i];
        if (scene->vehicle_count > vehicles) vehicles = scene->vehicle_count;
        if (scene->rule_based_count > rule_based) rule_based = scene->rule_based_count;
        if (scene->control_count > controls) controls = scene->control_count;
        has_height = has_height || scene->has_height;
        if (scene->script_count > scripts) scripts = scene->script_count;
    }

    /* elements of the state, none of what the config does not use */
    const drv_columns columns = drv_columns_of(&setup->config);
    const bool has_goal_lanes = drv_scene_parts_of(&setup->config) & DRV_SCENE_LANE_GRAPH;
    const bool respawns = setup->config.on_goal == DRV_RESPAWN;
    return (drv_sizes){.agents = setup->agents_per_world,
                       .vehicles = round_up(vehicles, DRV_SIMD_PAD),
                       .rule_based = rule_based,
                       .height_vehicles = has_height ? round_up(vehicles, DRV_SIMD_PAD) : 0,
                       .height_agents = has_height ? setup->agents_per_world : 0,
                       .scripts = scripts,
                       .contact_words = (vehicles + 63) / 64,
                       .max_trials = setup->config.max_trials,
                       .record_capacity = setup->record_capacity,
                       .terms = columns.terms,
                       .metrics = columns.metrics,
                       .lane_agents = columns.lane ? setup->agents_per_world : 0,
                       .comfort_agents = columns.comfort ? setup->agents_per_world : 0,
                       .route_agents = columns.route ? setup->agents_per_world : 0,
                       .proximity_agents = columns.proximity ? setup->agents_per_world : 0,
                       .detailed_agents = setup->config.detailed_metrics ? setup->agents_per_world : 0,
                       .coplayer_agents = setup->config.coplayers > 0.0f ? setup->agents_per_world : 0,
                       .mask_agents = setup->config.action_mask ? setup->agents_per_world : 0,
                       .own_reward_agents = setup->own_reward ? setup->agents_per_world : 0,
                       .has_weights = drv_weights_count(&setup->config) > 0,
                       .next_goals = has_goal_lanes ? setup->agents_per_world : 0,
                       .counted_goals = has_goal_lanes || respawns ? setup->agents_per_world : 0,
                       .respawn_agents = respawns ? setup->agents_per_world : 0,
                       .slip_agents = setup->config.dynamics == DRV_SINGLE_TRACK ? setup->agents_per_world : 0,
                       .traffic_controls = setup->config.traffic_controls ? controls : 0,
                       .control_agents = setup->config.traffic_controls ? setup->agents_per_world : 0,
                       .controlled_vehicles = setup->config.traffic_controls ? rule_based : 0,
                       .lane_changers = setup->config.idm_lane_changes ? rule_based : 0,
                       .has_hidden = drv_hidden_is_on(&setup->config),
                       .has_commanded = drv_hidden_commands_steering(&setup->config),
                       .disturbed_agents = drv_disturbances_are_on(&setup->config) ? setup->agents_per_world : 0,
                       .delay_steps = (int32_t)setup->config.hidden_action_delay_steps_high};
}

drv_status drv_batch_plan(const drv_batch_setup *setup, drv_batch_needs *out, char *message) {
    drv_status status = check_setup(setup, message);
    if (status != DRV_OK) return status;

    /* check that indices and bytes stay in range */
    const drv_sizes sizes = drv_batch_sizes(setup);
    const int64_t agents = (int64_t)setup->num_worlds * sizes.agents;
    const int64_t averages = (int64_t)sizes.agents * sizes.max_trials * sizes.metrics;
    const int64_t values = (int64_t)sizes.agents * sizes.record_capacity * sizes.metrics;
    const double bytes = (double)setup->num_worlds * (double)drv_state_world_bytes(sizes);
    const int64_t most = INT32_MAX / (int64_t)sizeof(double); /* elements of an array whose bytes fit int32 */
    if (agents > INT32_MAX || averages > most || values > most || bytes > (double)block_limit_bytes)
        return drv_fail(message, DRV_ERROR_MEMORY,
                        "%d worlds of %d agents with max_trials %d and trial_records %d need %.3g bytes of state and "
                        "%lld agents; at most %.3g bytes and %d agents are allowed",
                        setup->num_worlds, sizes.agents, sizes.max_trials, sizes.record_capacity, bytes,
                        (long long)agents, (double)block_limit_bytes, INT32_MAX);

    /* return the sizes */
    const drv_action_space space = drv_action_space_of(&setup->config);
    *out = (drv_batch_needs){
        .block_bytes = drv_state_world_bytes(sizes) * (uint64_t)setup->num_worlds,
        .num_agents = (int32_t)agents,
        .agents_per_world = sizes.agents,
        .vehicles_per_world = sizes.vehicles,
        .observation_size = drv_layout_size(&setup->config),
        .observation_bytes = drv_layout_bytes(&setup->config),
        .image_layers = drv_image_layers(&setup->config),
        .image_size = setup->config.image_size,
        .critic_size = drv_critic_size(&setup->config),
        .mask_size = drv_action_mask_size(&space),
        .action_width = space.width,
    };
    return DRV_OK;
}
