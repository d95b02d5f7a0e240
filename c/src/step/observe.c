/* What does an agent observe? A head with its own state and trial features, then sets of slots, in the order of
 * view/layout.h. */
#include <math.h>
#include <string.h>

#include "math/bits.h"
#include "math/geometry.h"
#include "math/vector.h"
#include "step/goals.h"
#include "step/hidden.h"
#include "step/image.h"
#include "step/nearest.h"
#include "step/on_map.h"
#include "step/partners.h"
#include "step/phases.h"
#include "step/roads.h"
#include "step/route_progress.h"
#include "step/sensors.h"
#include "step/weights.h"
#include "view/layout.h"

/* The frame of an agent: x ahead, y to the left, from its centre. */
typedef struct agent_frame {
    drv_point origin, ahead;
} agent_frame;

static agent_frame frame_of(const drv_world *world, int32_t agent) {
    return (agent_frame){{world->x_m[agent], world->y_m[agent]},
                         {world->cos_heading[agent], world->sin_heading[agent]}};
}

/* ---- records ---- */

/* A record is a slot before its transformation to an agent's frame: the position and direction of a vehicle or segment
 * in the scene's frame, then four numbers that do not depend on the frame. */
_Static_assert((int)PARTNER_COUNT == (int)DRV_RECORD_FLOATS && (int)ROAD_COUNT == (int)DRV_RECORD_FLOATS &&
                   (int)CONTROL_COUNT == (int)DRV_RECORD_FLOATS,
               "transform_records transforms the records of these sets");
_Static_assert(DRV_WIDTH >= 4 && (int)DRV_WIDTH <= (int)DRV_RECORD_FLOATS, "one vector holds a record's pose");

/* The transform of records to another frame, element by element, so that one vector holds position and direction:
 *
 *     offset = record - origin
 *     slot   = offset * along + drv_swap_pairs(offset) * across
 *
 * The first pair is the position, which is translated, rotated and scaled, the second the direction, which is rotated
 * only. On the last four floats it is the identity: origin and across are 0, along is 1. */
typedef struct frame_transform {
    float origin[DRV_RECORD_FLOATS], along[DRV_RECORD_FLOATS], across[DRV_RECORD_FLOATS];
} frame_transform;

/* The transform to the frame of `ego`, with positions scaled as in observations. */
static frame_transform transform_to(agent_frame ego, float position_scale) {
    const float c = ego.ahead.x, s = ego.ahead.y, k = position_scale;
    return (frame_transform){{ego.origin.x, ego.origin.y},
                             {c * k, c * k, c, c, 1.0f, 1.0f, 1.0f, 1.0f},
                             {s * k, -s * k, s, -s}};
}

/* Writes a record, transformed and clipped to [-1, 1]. Floats beyond one vector are copied: the transform is the
 * identity on them, and they are in range. */
static inline void transform_record(const float *record, drv_floats origin, drv_floats along, drv_floats across,
                                    float *slot) {
    const drv_floats offset = drv_load(record) - origin;
    drv_store(slot, drv_clip_unit(offset * along + drv_swap_pairs(offset) * across));
    memcpy(slot + DRV_WIDTH, record + DRV_WIDTH, (DRV_RECORD_FLOATS - DRV_WIDTH) * sizeof *slot);
}

/* Writes the chosen records, transformed, to consecutive slots. */
static void transform_records(const float *records, const int32_t *chosen, int32_t count, const frame_transform *to_ego,
                              float *out) {
    const drv_floats origin = drv_load(to_ego->origin), along = drv_load(to_ego->along);
    const drv_floats across = drv_load(to_ego->across);
    const int32_t size = DRV_RECORD_FLOATS;
    int32_t i = 0;
    for (; i + 3 < count; i += 4, out += 4 * size) /* unrolled, so that loads of several records overlap */
        for (int32_t k = 0; k < 4; k++)
            transform_record(records + (int64_t)chosen[i + k] * size, origin, along, across, out + k * size);
    for (; i < count; i++, out += size)
        transform_record(records + (int64_t)chosen[i] * size, origin, along, across, out);
}

/* ---- head ---- */

/* Whether the agent overlaps a vehicle that is still on the map after the verdicts of the step. */
static bool overlaps_any(const drv_world *world, int32_t agent) {
    const uint64_t *words = world->overlapping + agent * world->sizes.contact_words;
    for (int32_t word = 0; word < world->sizes.contact_words; word++)
        for (uint64_t bits = words[word]; bits != 0; bits &= bits - 1)
            if (world->present[64 * word + drv_lowest_bit(bits)]) return true;
    return false;
}

/* Writes the features of the head in their units. scale_head runs only after the sets are written: right after these
 * stores its vector loads would stall, since several narrow stores are not forwarded to one wide load. */
static void write_head(const drv_world *world, int32_t agent, agent_frame ego, float *out) {
    const drv_config *config = world->config;
    const drv_scene *scene = world->scene;

    /* the goal in the agent's frame, and the steps of the trial that are past */
    const bool observed = drv_goals_is_observed(world, agent);
    const float dx = observed ? world->goal_x_m[agent] - ego.origin.x : 0.0f;
    const float dy = observed ? world->goal_y_m[agent] - ego.origin.y : 0.0f;
    const drv_point goal = {dx * ego.ahead.x + dy * ego.ahead.y, dy * ego.ahead.x - dx * ego.ahead.y};
    const float goal_m = sqrtf(goal.x * goal.x + goal.y * goal.y);
    const float per_m = goal_m > 0.0f ? 1.0f / goal_m : 0.0f;
    const int32_t past_steps = *world->clock_steps + *world->age_steps;
    const bool observes_time = config->time_left == DRV_TIME_LEFT_ACTOR;

    /* the features, in the order of view/layout.h but for the outcome, which is one-hot */
    out[EGO_PRESENT] = 1.0f;
    out[EGO_SPEED] = world->speed_mps[agent];
    out[EGO_LENGTH] = scene->length_m[agent];
    out[EGO_WIDTH] = scene->width_m[agent];
    out[EGO_STEERING] = world->commanded_steering_rad[agent];
    out[EGO_ACCELERATION] = world->acceleration_mps2[agent];
    out[EGO_YAW_RATE] = world->yaw_rate_radps[agent];
    out[EGO_GOAL_X] = goal.x;
    out[EGO_GOAL_Y] = goal.y;
    out[EGO_GOAL_DIRECTION_X] = goal.x * per_m;
    out[EGO_GOAL_DIRECTION_Y] = goal.y * per_m;
    out[EGO_GOAL_DISTANCE] = goal_m;
    out[EGO_IN_CONTACT] = overlaps_any(world, agent);
    out[EGO_ON_ROAD_EDGE] = world->on_road_edge[agent];
    out[EGO_TIME_LEFT] = observes_time ? (float)(scene->trial_steps - past_steps) / (float)scene->trial_steps : 0.0f;
    out[EGO_COUNT + TRIAL_INDEX] = (float)*world->trial;
    out[EGO_COUNT + TRIAL_REWARD] = world->last_reward[agent];
    out[EGO_COUNT + TRIAL_STEPS_SHARE] = config->steps_share ? world->previous_share[agent] : 0.0f;
    const int32_t outcome = TRIAL_OUTCOME_NONE + world->previous_outcome[agent];
    for (int32_t i = TRIAL_OUTCOME_NONE; i <= TRIAL_OUTCOME_OTHER; i++) out[EGO_COUNT + i] = i == outcome;
}

/* Scales and clips the head as the layout defines. */
static void scale_head(const drv_head_scales *head, float *out) {
    for (int32_t i = 0; i < HEAD_COUNT; i++) out[i] = drv_clip(out[i] * head->scale[i], head->low[i], 1.0f);
}

/* ---- partners ---- */

/* The record of a vehicle, in the scene's frame. */
static void write_vehicle(const drv_world *world, drv_vehicle_scales scales, int32_t vehicle, float *record) {
    const drv_scene *scene = world->scene;
    record[PARTNER_X] = world->x_m[vehicle];
    record[PARTNER_Y] = world->y_m[vehicle];
    record[PARTNER_DIRECTION_X] = world->cos_heading[vehicle];
    record[PARTNER_DIRECTION_Y] = world->sin_heading[vehicle];
    record[PARTNER_LENGTH] = drv_smaller(scene->length_m[vehicle] * scales.length, 1.0f);
    record[PARTNER_WIDTH] = drv_smaller(scene->width_m[vehicle] * scales.width, 1.0f);
    record[PARTNER_SPEED] = drv_clip(world->speed_mps[vehicle] * scales.speed, -1.0f, 1.0f) + 0.0f; /* never -0 */
    record[PARTNER_KIND] = (float)scene->kind[vehicle] * scales.kind;
}

/* Writes one record per vehicle on the map. */
static void write_records_on_map(const drv_world *world, const drv_on_map *on_map, float *record) {
    const drv_vehicle_scales scales = world->encoding->layout->vehicle;
    for (int32_t i = 0; i < on_map->count; i++)
        write_vehicle(world, scales, on_map->vehicle[i], record + i * PARTNER_COUNT);
}

/* Selects the partners of an agent, as indices of vehicles. */
static drv_selection choose_partner_vehicles(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const drv_selection chosen = drv_partners_choose(world, agent, scratch);
    for (int32_t slot = 0; slot < chosen.count; slot++)
        scratch->kept[slot] = scratch->on_map.vehicle[chosen.index[slot]];
    return (drv_selection){scratch->kept, chosen.count};
}

static const float *partner_records(const drv_world *world, const drv_scratch *scratch) {
    (void)world;
    return scratch->vehicle_record;
}

/* ---- roads ---- */

static const float *scene_records(const drv_world *world, const drv_scratch *scratch) {
    (void)scratch;
    return world->encoding->record;
}

/* ---- candidate goals ---- */

/* Selects all candidates of the scene. A batch has slots for all of them, or none; then this is not called. */
static drv_selection choose_candidates(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    (void)agent;
    const int32_t count = world->scene->candidate_count;
    for (int32_t i = 0; i < count; i++) scratch->kept[i] = i;
    return (drv_selection){scratch->kept, count};
}

static const float *candidate_records(const drv_world *world, const drv_scratch *scratch) {
    (void)scratch;
    return world->encoding->candidate;
}

/* Transforms a pair: a position where k is 0, a direction where it is 2. */
static void transform_pair(const float *pair, const frame_transform *to_ego, int32_t k, float *out) {
    const float x = pair[0] - to_ego->origin[k], y = pair[1] - to_ego->origin[k + 1];
    out[0] = drv_clip(x * to_ego->along[k] + y * to_ego->across[k], -1.0f, 1.0f);
    out[1] = drv_clip(y * to_ego->along[k + 1] + x * to_ego->across[k + 1], -1.0f, 1.0f);
}

static void transform_candidates(const float *records, const int32_t *chosen, int32_t count,
                                 const frame_transform *to_ego, float *out) {
    for (int32_t i = 0; i < count; i++, out += CANDIDATE_COUNT) {
        const float *record = records + chosen[i] * CANDIDATE_COUNT;
        transform_pair(record + CANDIDATE_X, to_ego, 0, out + CANDIDATE_X);
        out[CANDIDATE_KIND] = record[CANDIDATE_KIND];
    }
}

/* ---- goals ---- */

/* Writes the records of the agent's current goal and those that follow it; selects none while the goal is hidden. */
static drv_selection choose_goals(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const int32_t slots = drv_goals_is_observed(world, agent) ? world->config->goals : 0;
    drv_goal goal = drv_goals_current(world, agent);
    int32_t count = 0;
    for (bool follows = true; follows && count < slots; count++) {
        float *record = scratch->goal_record + count * GOAL_COUNT;
        const drv_point along = drv_goals_direction(world, agent, goal);
        record[GOAL_X] = goal.at.x;
        record[GOAL_Y] = goal.at.y;
        record[GOAL_DIRECTION_X] = along.x;
        record[GOAL_DIRECTION_Y] = along.y;
        record[GOAL_NUMBER] = (float)count / (float)DRV_GOAL_SLOT_LIMIT;
        record[GOAL_KIND] = 1.0f;
        scratch->kept[count] = count;
        follows = world->config->on_goal == DRV_NEXT && drv_goals_follow(world, agent, &goal);
    }
    return (drv_selection){scratch->kept, count};
}

static const float *goal_records(const drv_world *world, const drv_scratch *scratch) {
    (void)world;
    return scratch->goal_record;
}

static void transform_goals(const float *records, const int32_t *chosen, int32_t count, const frame_transform *to_ego,
                            float *out) {
    for (int32_t i = 0; i < count; i++, out += GOAL_COUNT) {
        const float *record = records + chosen[i] * GOAL_COUNT;
        transform_pair(record + GOAL_X, to_ego, 0, out + GOAL_X);
        transform_pair(record + GOAL_DIRECTION_X, to_ego, 2, out + GOAL_DIRECTION_X);
        out[GOAL_NUMBER] = record[GOAL_NUMBER];
        out[GOAL_KIND] = record[GOAL_KIND];
    }
}

/* ---- route ---- */

/* The unit vector from an agent to a point, which is ahead where both are the same. */
static drv_point bearing_of(const drv_world *world, int32_t agent, drv_point at) {
    const float dx = at.x - world->x_m[agent], dy = at.y - world->y_m[agent];
    const float distance_m = sqrtf(dx * dx + dy * dy);
    if (distance_m > 0.0f) return (drv_point){dx / distance_m, dy / distance_m};
    return (drv_point){world->cos_heading[agent], world->sin_heading[agent]};
}

/* Writes the records of the points of the agent's route ahead of it; selects none while the goal, to which the route
 * leads, is hidden. */
static drv_selection choose_route(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const int32_t slots = drv_goals_is_observed(world, agent) ? world->config->route : 0;
    int32_t count = 0;
    for (drv_point at, along; count < slots; count++) {
        const float ahead_m = (float)(count + 1) * world->config->route_spacing_m;
        if (!drv_route_ahead(world, agent, ahead_m, &at, &along)) break;
        float *record = scratch->route_record + count * ROUTE_COUNT;
        const drv_point bearing = bearing_of(world, agent, at);
        record[ROUTE_X] = at.x;
        record[ROUTE_Y] = at.y;
        record[ROUTE_BEARING_X] = bearing.x;
        record[ROUTE_BEARING_Y] = bearing.y;
        record[ROUTE_DIRECTION_X] = along.x;
        record[ROUTE_DIRECTION_Y] = along.y;
        record[ROUTE_KIND] = 1.0f;
        scratch->kept[count] = count;
    }
    return (drv_selection){scratch->kept, count};
}

static const float *route_records(const drv_world *world, const drv_scratch *scratch) {
    (void)world;
    return scratch->route_record;
}

static void transform_route(const float *records, const int32_t *chosen, int32_t count, const frame_transform *to_ego,
                            float *out) {
    for (int32_t i = 0; i < count; i++, out += ROUTE_COUNT) {
        const float *record = records + chosen[i] * ROUTE_COUNT;
        transform_pair(record + ROUTE_X, to_ego, 0, out + ROUTE_X);
        transform_pair(record + ROUTE_BEARING_X, to_ego, 2, out + ROUTE_BEARING_X);
        transform_pair(record + ROUTE_DIRECTION_X, to_ego, 2, out + ROUTE_DIRECTION_X);
        out[ROUTE_KIND] = record[ROUTE_KIND];
    }
}

/* ---- traffic lights and signs ---- */

/* Selects the k nearest to an agent, by the middles of their stop lines, as records of what they show. */
static drv_selection choose_controls(const drv_world *world, int32_t agent, drv_scratch *scratch) {
    const drv_scene *scene = world->scene;
    const drv_points middles = {scene->control_x_m, scene->control_y_m, scene->control_z_m, scene->control_count};
    drv_points_measure(middles, (drv_point){world->x_m[agent], world->y_m[agent]}, scratch);
    const drv_selection chosen = drv_points_nearest(world, agent, middles, world->config->controls, scratch);
    for (int32_t slot = 0; slot < chosen.count; slot++) {
        const int32_t control = scratch->kept[slot];
        scratch->kept[slot] = drv_control_record(scene, control, world->light_state[control]);
    }
    return chosen;
}

/* The second pair of a record is a position, too: the other end of the line. */
static void transform_lines(const float *records, const int32_t *chosen, int32_t count, const frame_transform *to_ego,
                            float *out) {
    frame_transform both = *to_ego;
    for (int32_t i = 0; i < 2; i++) {
        both.origin[2 + i] = both.origin[i];
        both.along[2 + i] = both.along[i];
        both.across[2 + i] = both.across[i];
    }
    transform_records(records, chosen, count, &both, out);
}

/* ---- sets ---- */

/* How a set is written. A selection is valid until the next one with the same scratch. */
typedef struct set_writer {
    /* select the contents of the slots: the first returns indices of records, the second of the set's table, from 0 */
    drv_selection (*choose)(const drv_world *world, int32_t agent, drv_scratch *scratch);
    drv_selection (*choose_entries)(const drv_world *world, int32_t agent, drv_scratch *scratch);
    const float *(*records)(const drv_world *world, const drv_scratch *scratch);
    /* writes the records of a selection, transformed to an agent's frame, to consecutive slots */
    void (*transform)(const float *records, const int32_t *chosen, int32_t count, const frame_transform *to_ego,
                      float *out);
} set_writer;

static const set_writer set_writers[DRV_SET_COUNT] = {
    [DRV_SET_PARTNERS] = {drv_partners_choose, choose_partner_vehicles, partner_records, transform_records},
    [DRV_SET_ROADS] = {drv_roads_choose, drv_roads_choose, scene_records, transform_records},
    [DRV_SET_CANDIDATES] = {choose_candidates, choose_candidates, candidate_records, transform_candidates},
    [DRV_SET_CONTROLS] = {choose_controls, choose_controls, scene_records, transform_lines},
    [DRV_SET_GOALS] = {choose_goals, choose_goals, goal_records, transform_goals},
    [DRV_SET_ROUTE] = {choose_route, choose_route, route_records, transform_route},
};

/* Writes the set of that index; empty slots are zeros. */
static void write_set(const drv_world *world, int32_t agent, int32_t index, const frame_transform *to_ego,
                      drv_scratch *scratch, float *out) {
    const drv_observation_set *set = &world->encoding->layout->set[index];
    const set_writer *writer = &set_writers[index];
    const drv_selection chosen = writer->choose(world, agent, scratch);
    writer->transform(writer->records(world, scratch), chosen.index, chosen.count, to_ego, out);
    const int32_t filled = chosen.count * set->record_floats, all = set->slots * set->record_floats;
    memset(out + filled, 0, (size_t)(all - filled) * sizeof *out);
}

/* Writes the same set as entries of its table: counted from 1, and 0 in empty slots. */
static void write_set_indices(const drv_world *world, int32_t agent, int32_t index, drv_scratch *scratch,
                              uint16_t *out) {
    const int32_t slots = world->encoding->layout->set[index].slots;
    const drv_selection chosen = set_writers[index].choose_entries(world, agent, scratch);
    for (int32_t slot = 0; slot < chosen.count; slot++) out[slot] = (uint16_t)(chosen.index[slot] + 1);
    memset(out + chosen.count, 0, (size_t)(slots - chosen.count) * sizeof *out);
}

/* ---- observations ---- */

static void write_halves(const float *from, int32_t count, uint16_t *to) {
    int32_t i = 0;
    for (; i + DRV_WIDTH <= count; i += DRV_WIDTH) drv_store_halves(to + i, drv_load(from + i));
    for (; i < count; i++) to[i] = drv_float_to_half(from[i]);
}

static void observe_agent(const drv_world *world, int32_t agent, drv_scratch *scratch, float *out) {
    const drv_layout *layout = world->encoding->layout;
    const agent_frame ego = frame_of(world, agent);
    const frame_transform to_ego = transform_to(ego, layout->position_scale);
    write_head(world, agent, ego, out);
    for (int32_t i = 0; i < DRV_SET_COUNT; i++)
        if (layout->set[i].slots > 0) write_set(world, agent, i, &to_ego, scratch, out + layout->set[i].offset);
    scale_head(&layout->head, out);
    if (layout->has_sensor_errors) drv_sensors_degrade(world, agent, out);
    if (world->config->reveal_hidden) drv_hidden_reveal(world, agent, out + HEAD_COUNT);
    if (world->sizes.has_weights) drv_weights_observe(world, agent, out + layout->weights_at);
}

static void observe_agent_by_index(const drv_world *world, int32_t agent, drv_scratch *scratch, uint8_t *out) {
    const drv_layout *layout = world->encoding->layout;
    float *head = (float *)(void *)out;
    write_head(world, agent, frame_of(world, agent), head);
    for (int32_t i = 0; i < DRV_SET_COUNT; i++)
        if (layout->set[i].slots > 0)
            write_set_indices(world, agent, i, scratch, (uint16_t *)(void *)(out + layout->set[i].index_offset_bytes));
    scale_head(&layout->head, head);
    if (layout->has_sensor_errors) drv_sensors_degrade_indices(world, agent, out);
    if (world->config->reveal_hidden) drv_hidden_reveal(world, agent, head + HEAD_COUNT);
    if (world->sizes.has_weights) drv_weights_observe(world, agent, head + layout->weights_at);
}

void drv_observe_agents(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch, drv_observation_type type,
                        void *out) {
    const int64_t size = world->encoding->layout->size;
    drv_on_map_list(world, scratch);
    write_records_on_map(world, &scratch->on_map, scratch->vehicle_record);
    drv_roads_locate(world, scratch);
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) { /* a chosen agent is on the map */
        if (!chosen[agent]) continue;
        drv_roads_prefetch(world, agent + 1, scratch);
        if (type == DRV_FLOAT16) {
            observe_agent(world, agent, scratch, scratch->observation);
            write_halves(scratch->observation, (int32_t)size, (uint16_t *)out + agent * size);
        } else {
            observe_agent(world, agent, scratch, (float *)out + agent * size);
        }
    }
}

/* Writes the vehicle table of the world, then the index observations of the chosen agents. */
static void write_index_observations(const drv_world *world, const uint8_t *chosen, drv_scratch *scratch) {
    const drv_layout *layout = world->encoding->layout;
    float *vehicles = world->out.vehicle_table + PARTNER_COUNT;
    const int32_t count = world->scene->vehicle_count, capacity = world->sizes.vehicles;
    if (*world->clock_steps == 0) /* clears entries of an earlier scene with more vehicles */
        memset(vehicles + count * PARTNER_COUNT, 0, (size_t)(capacity - count) * PARTNER_COUNT * sizeof *vehicles);
    for (int32_t i = 0; i < count; i++) write_vehicle(world, layout->vehicle, i, vehicles + i * PARTNER_COUNT);
    drv_on_map_list(world, scratch);
    drv_roads_locate(world, scratch);
    for (int32_t agent = 0; agent < world->scene->num_agents; agent++) {
        if (!chosen[agent]) continue;
        drv_roads_prefetch(world, agent + 1, scratch);
        observe_agent_by_index(world, agent, scratch, world->out.observations + (int64_t)agent * layout->bytes);
    }
}

void drv_observe_write(drv_world *world, drv_scratch *scratch) {
    const drv_observation_type type = (drv_observation_type)world->config->observation_type;
    const int64_t observation_bytes = world->encoding->layout->bytes;
    /* An agent that stopped in an earlier step keeps its last observation: it does not act before the restart. */
    for (int32_t agent = 0; agent < world->sizes.agents; agent++) {
        const bool off_map = world->status[agent] == DRV_REMOVED || world->status[agent] == DRV_ABSENT;
        const bool just_acted = world->recorded[agent] || world->status[agent] == DRV_DRIVING;
        scratch->chosen[agent] = !off_map && just_acted;
        /* The observation of a removed agent is zeroed once, when it leaves or when its world starts. */
        if (off_map && (just_acted || *world->clock_steps == 0)) {
            memset(world->out.observations + agent * observation_bytes, 0, (size_t)observation_bytes);
            if (type == DRV_IMAGE) drv_image_clear(world, agent);
        }
    }
    if (type == DRV_INDEX) write_index_observations(world, scratch->chosen, scratch);
    else drv_observe_agents(world, scratch->chosen, scratch, type, world->out.observations);
    if (type == DRV_IMAGE) drv_images_write(world, scratch->chosen, scratch);
}
