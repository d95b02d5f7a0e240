/* What do the sensors of an agent miss, and by how much are they off?
 *
 * Draws are a function of seed, world, episode, step of the trial, agent and slot: all trials of an episode have the
 * same, and no draw depends on whether another error is on. */
#include "step/sensors.h"

#include <string.h>

#include "math/geometry.h"
#include "math/normal.h"
#include "math/random.h"
#include "step/goals.h"
#include "view/layout.h"
#include "view/sensors.h"

_Static_assert((int)PARTNER_X == (int)ROAD_X && (int)PARTNER_Y == (int)ROAD_Y &&
                   (int)PARTNER_DIRECTION_X == (int)ROAD_DIRECTION_X &&
                   (int)PARTNER_DIRECTION_Y == (int)ROAD_DIRECTION_Y && (int)PARTNER_KIND == (int)ROAD_KIND,
               "records of both sets begin with a pose and end with a kind");

/* What a stream of draws is for: the head, or noise or dropout of a set. Set i has the two streams from
 * STREAM_NOISE + i * STREAMS_OF_SET on. */
enum { STREAM_HEAD, STREAM_NOISE, STREAM_DROPOUT, STREAMS_OF_SET = 2 };

/* The key of a stream of an agent in this step. */
static uint64_t key_of(const drv_world *world, int32_t agent, int32_t stream) {
    const drv_purpose purpose = (drv_purpose)(DRV_PURPOSE_SENSORS + stream);
    const uint32_t step = (uint32_t)*world->clock_steps;
    const uint64_t bits = drv_random_bits(*world->seed, *world->id, *world->episode, purpose, step);
    return drv_random_draw(bits, (uint32_t)agent);
}

static bool is_dropped(uint64_t key, int32_t slot, float dropout) {
    return drv_random_share(drv_random_draw(key, (uint32_t)slot)) < dropout;
}

static float clipped(float value) { return drv_clip(value, -1.0f, 1.0f); }

/* The errors of the records of a set in this step: an agent that is blind misses all vehicles. */
static drv_record_errors errors_in_effect(const drv_world *world, int32_t agent, int32_t set) {
    drv_record_errors errors = drv_record_errors_of(world->config, set);
    if (set == DRV_SET_PARTNERS && world->sizes.disturbed_agents > 0 && world->blind_steps[agent] > 0)
        errors.dropout = 1.0f;
    return errors;
}

/* Errors of some consecutive slots, in the units of observations. */
enum { BLOCK = 16 };
typedef struct error_block {
    float ahead[BLOCK], left[BLOCK], turn_cos[BLOCK], turn_sin[BLOCK], speed[BLOCK];
} error_block;

/* Draws the errors of the slots from `first` on; a loop without a branch, which compilers vectorise. `errors` has
 * standard deviations in the units of observations, but for that of the heading. */
static void draw_block(uint64_t key, int32_t first, drv_record_errors errors, error_block *out) {
    for (int32_t i = 0; i < BLOCK; i++) {
        const drv_point shift = drv_normal_pair(drv_random_draw(key, 2 * (uint32_t)(first + i)));
        const drv_point others = drv_normal_pair(drv_random_draw(key, 2 * (uint32_t)(first + i) + 1));
        const drv_point turn = drv_direction(errors.heading_rad * others.x);
        out->ahead[i] = errors.position_m * shift.x;
        out->left[i] = errors.position_m * shift.y;
        out->turn_cos[i] = turn.x;
        out->turn_sin[i] = turn.y;
        out->speed[i] = errors.speed_mps * others.y;
    }
}

/* Moves and turns a record in the agent's frame, by entry i of a block. */
static void perturb_record(float *record, const error_block *error, int32_t i, bool has_speed) {
    const float ahead_x = record[PARTNER_DIRECTION_X], ahead_y = record[PARTNER_DIRECTION_Y];
    const float turn_cos = error->turn_cos[i], turn_sin = error->turn_sin[i];
    record[PARTNER_X] = clipped(record[PARTNER_X] + error->ahead[i]);
    record[PARTNER_Y] = clipped(record[PARTNER_Y] + error->left[i]);
    record[PARTNER_DIRECTION_X] = clipped(ahead_x * turn_cos - ahead_y * turn_sin);
    record[PARTNER_DIRECTION_Y] = clipped(ahead_y * turn_cos + ahead_x * turn_sin);
    if (has_speed) record[PARTNER_SPEED] = clipped(record[PARTNER_SPEED] + error->speed[i]);
}

/* Drops and perturbs the records of a set; those that are left fill its first slots, in their order. */
static void degrade_set(const drv_world *world, int32_t agent, int32_t index, float *records) {
    enum { SIZE = DRV_RECORD_FLOATS };
    const drv_layout *layout = world->encoding->layout;
    drv_record_errors errors = errors_in_effect(world, agent, index);
    const bool has_noise = drv_records_have_noise(errors);
    if (!has_noise && errors.dropout == 0.0f) return;
    errors.position_m *= layout->position_scale;
    errors.speed_mps *= layout->vehicle.speed;

    const uint64_t noise = key_of(world, agent, STREAM_NOISE + STREAMS_OF_SET * index);
    const uint64_t dropout = key_of(world, agent, STREAM_DROPOUT + STREAMS_OF_SET * index);
    const bool has_dropout = errors.dropout > 0.0f;
    const bool has_speed = errors.speed_mps > 0.0f; /* in a set whose records have a speed */
    error_block error;
    int32_t slot = 0, kept = 0;
    for (; slot < layout->set[index].slots && records[slot * SIZE + PARTNER_KIND] > 0.0f; slot++) {
        if (has_noise && slot % BLOCK == 0) draw_block(noise, slot, errors, &error);
        float *record = records + kept * SIZE; /* at or before that of the slot */
        memmove(record, records + slot * SIZE, SIZE * sizeof *record);
        if (has_noise) perturb_record(record, &error, slot % BLOCK, has_speed);
        kept += !(has_dropout && is_dropped(dropout, slot, errors.dropout));
    }
    memset(records + kept * SIZE, 0, (size_t)((slot - kept) * SIZE) * sizeof *records);
}

bool drv_sensors_drop(const drv_world *world, int32_t agent, int32_t index, int32_t slot) {
    const float dropout = errors_in_effect(world, agent, index).dropout;
    if (dropout == 0.0f) return false;
    return is_dropped(key_of(world, agent, STREAM_DROPOUT + STREAMS_OF_SET * index), slot, dropout);
}

/* Drops entries of a set of an index observation. */
static void degrade_indices_of(const drv_world *world, int32_t agent, int32_t index, uint16_t *entries) {
    const drv_observation_set *set = &world->encoding->layout->set[index];
    const float dropout = errors_in_effect(world, agent, index).dropout;
    if (dropout == 0.0f) return;
    const uint64_t key = key_of(world, agent, STREAM_DROPOUT + STREAMS_OF_SET * index);
    int32_t slot = 0, kept = 0;
    for (; slot < set->slots && entries[slot] > 0; slot++) {
        entries[kept] = entries[slot];
        kept += !is_dropped(key, slot, dropout);
    }
    memset(entries + kept, 0, (size_t)(slot - kept) * sizeof *entries);
}

/* Moves the goal of an observation. */
static void perturb_goal(const drv_world *world, int32_t agent, drv_point error_m, float *head) {
    const drv_point goal = drv_goals_in_frame(world, agent, agent);
    const drv_point observed = {goal.x + error_m.x, goal.y + error_m.y};
    drv_goals_write(&world->encoding->layout->head, observed, head + EGO_GOAL_X);
}

/* Moves the goals of an observation by the error of the current one. */
static void perturb_goals(const drv_world *world, drv_point error_m, float *observation) {
    const drv_layout *layout = world->encoding->layout;
    const drv_observation_set *set = &layout->set[DRV_SET_GOALS];
    float *record = observation + set->offset;
    for (int32_t slot = 0; slot < set->slots && record[GOAL_KIND] > 0.0f; slot++, record += GOAL_COUNT) {
        record[GOAL_X] = clipped(record[GOAL_X] + error_m.x * layout->position_scale);
        record[GOAL_Y] = clipped(record[GOAL_Y] + error_m.y * layout->position_scale);
    }
}

static void degrade_head(const drv_world *world, int32_t agent, float *head) {
    const float speed_mps = world->config->sensor_ego_speed_noise_mps;
    const float goal_m = world->config->sensor_goal_position_noise_m;
    const uint64_t key = key_of(world, agent, STREAM_HEAD);
    const drv_point shift = drv_normal_pair(drv_random_draw(key, 0));
    const float speed_scale = world->encoding->layout->head.scale[EGO_SPEED];
    if (goal_m > 0.0f && head[EGO_GOAL_DISTANCE] > 0.0f) { /* a hidden goal has distance 0 */
        const drv_point error_m = {goal_m * shift.x, goal_m * shift.y};
        perturb_goal(world, agent, error_m, head);
        perturb_goals(world, error_m, head);
    }
    const float error_mps = speed_mps * drv_normal_pair(drv_random_draw(key, 1)).x;
    head[EGO_SPEED] = clipped(head[EGO_SPEED] + error_mps * speed_scale);
}

void drv_sensors_degrade(const drv_world *world, int32_t agent, float *observation) {
    degrade_head(world, agent, observation);
    for (int32_t i = 0; i < DRV_SET_COUNT; i++)
        degrade_set(world, agent, i, observation + world->encoding->layout->set[i].offset);
}

void drv_sensors_degrade_indices(const drv_world *world, int32_t agent, uint8_t *observation) {
    degrade_head(world, agent, (float *)(void *)observation);
    for (int32_t i = 0; i < DRV_SET_COUNT; i++)
        degrade_indices_of(world, agent, i,
                           (uint16_t *)(void *)(observation + world->encoding->layout->set[i].index_offset_bytes));
}
