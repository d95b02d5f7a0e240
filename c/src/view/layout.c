/* At which offset of an observation is each feature, and how is it scaled? */
#include "view/layout.h"

#include <stddef.h>

#include "math/geometry.h"
#include "platform/fp_env.h"
#include "scene/scene.h"
#include "view/sensors.h"
#include "view/weights.h"

_Static_assert(TRIAL_OUTCOME_OTHER - TRIAL_OUTCOME_NONE == DRV_OUTCOME_OTHER - DRV_OUTCOME_NONE,
               "one feature per outcome, in the order of drv_outcome");

#define X(symbol, name, neutral, lowest, highest, meaning) \
    {"hidden/" #name, "1", "position in its range of the " meaning, SCALE_ONE, -1},
static const drv_feature_kind hidden_features[] = {DRV_HIDDEN(X)};
#undef X
#define X(symbol, name, weight, when, shown) \
    {"reward/" #name, "1", "position of the agent's weight of the term in its range", SCALE_ONE, -1},
static const drv_feature_kind weight_features[] = {DRV_REWARD_TERMS(X)};
#undef X
#define X(symbol, name, unit, scale, low, meaning) {name, unit, meaning, scale, low},
static const drv_feature_kind head_features[] = {EGO_FEATURES(X) TRIAL_FEATURES(X)};
static const drv_feature_kind partner_features[] = {PARTNER_FEATURES(X)};
static const drv_feature_kind road_features[] = {ROAD_FEATURES(X)};
static const drv_feature_kind candidate_features[] = {CANDIDATE_FEATURES(X)};
static const drv_feature_kind control_features[] = {CONTROL_FEATURES(X)};
static const drv_feature_kind goal_features[] = {GOAL_FEATURES(X)};
static const drv_feature_kind route_features[] = {ROUTE_FEATURES(X)};
#undef X

/* What no config changes of a set, and which field of the config is its number of slots. */
typedef struct set_kind {
    const char *name;
    const drv_feature_kind *features;
    int32_t record_floats;
    size_t slots_at; /* offset of the field in drv_config */
} set_kind;

static const set_kind set_kinds[DRV_SET_COUNT] = {
    [DRV_SET_PARTNERS] = {"partners", partner_features, PARTNER_COUNT, offsetof(drv_config, partners)},
    [DRV_SET_ROADS] = {"roads", road_features, ROAD_COUNT, offsetof(drv_config, roads)},
    [DRV_SET_CANDIDATES] = {"candidates", candidate_features, CANDIDATE_COUNT, offsetof(drv_config, candidates)},
    [DRV_SET_CONTROLS] = {"controls", control_features, CONTROL_COUNT, offsetof(drv_config, controls)},
    [DRV_SET_GOALS] = {"goals", goal_features, GOAL_COUNT, offsetof(drv_config, goals)},
    [DRV_SET_ROUTE] = {"route", route_features, ROUTE_COUNT, offsetof(drv_config, route)},
};

static int32_t slots_of(const drv_config *config, const set_kind *kind) {
    return *(const int32_t *)(const void *)((const char *)config + kind->slots_at);
}

float drv_layout_scale(const drv_config *config, drv_scale kind) {
    switch (kind) {
    case SCALE_ONE: return 1.0f;
    case SCALE_SPEED: return 1.0f / drv_larger(config->max_speed_mps, -config->min_speed_mps);
    case SCALE_LENGTH: return 1.0f / 20.0f; /* an articulated bus */
    case SCALE_WIDTH: return 1.0f / 5.0f; /* wider than any road vehicle */
    case SCALE_STEERING: return 1.0f / config->max_steering_rad;
    case SCALE_ACCELERATION: return 1.0f / config->max_acceleration_mps2;
    case SCALE_YAW_RATE: return 1.0f / 3.0f; /* a U-turn in about a second */
    case SCALE_POSITION: return 1.0f / config->view_radius_m;
    case SCALE_DISTANCE: return 0.25f / config->view_radius_m; /* goals may lie beyond the view radius */
    case SCALE_TRIAL: return 1.0f / (float)config->max_trials;
    case SCALE_REWARD: {
        /* Scaled, the rewards of all onsets sum to at most 1, so a later trial observes them unclipped. Progress is
         * small compared to them, or is clipped. */
        enum { ONSET = 1, RATE = 0 };
#define X(symbol, name, weight, when, shown) when,
        const bool is_onset[] = {DRV_REWARD_TERMS(X)};
#undef X
        const drv_weights weights = drv_weights_of(config);
        float best = 0.0f, worst = 0.0f;
        for (int32_t term = 0; term < DRV_TERM_COUNT; term++) {
            if (!is_onset[term]) continue;
            best += drv_larger(drv_larger(weights.weight[term], weights.high[term]), 0.0f);
            worst += drv_larger(-drv_smaller(weights.weight[term], weights.low[term]), 0.0f);
        }
        return 1.0f / drv_larger(1.0f, drv_larger(best, worst));
    }
    case SCALE_OBJECT_KIND: return 1.0f / (float)DRV_OBJECT_OTHER;
    case SCALE_HALF_SEGMENT: return 2.0f / drv_segment_limit_m;
    case SCALE_LANE_WIDTH: return 1.0f / 10.0f; /* wider than any lane */
    case SCALE_ROAD_KIND: return 1.0f / 8.0f; /* exact in binary, and one more than there are kinds */
    case SCALE_CONTROL_KIND: return 1.0f / 4.0f; /* likewise */
    case SCALE_GOALS: return 1.0f / (float)DRV_GOAL_SLOT_LIMIT;
    }
    return 1.0f;
}

static drv_head_scales head_scales_of(const drv_config *config) {
    drv_head_scales head;
    for (int32_t i = 0; i < HEAD_COUNT; i++) {
        head.scale[i] = drv_layout_scale(config, head_features[i].scale);
        head.low[i] = head_features[i].low;
    }
    return head;
}

static int32_t hidden_count(const drv_config *config) { return config->reveal_hidden ? DRV_HIDDEN_COUNT : 0; }

/* Floats before the sets. */
static int32_t head_count_of(const drv_config *config) {
    return HEAD_COUNT + hidden_count(config) + drv_weights_count(config);
}

/* Lays out the sets one after another; returns the number of floats of an observation. */
static int32_t lay_out_sets(const drv_config *config, drv_observation_set *sets) {
    int32_t offset = head_count_of(config), index_offset_bytes = offset * (int32_t)sizeof(float);
    for (int32_t i = 0; i < DRV_SET_COUNT; i++) {
        const set_kind *kind = &set_kinds[i];
        const int32_t slots = slots_of(config, kind);
        sets[i] = (drv_observation_set){kind->name, slots, kind->record_floats, offset, index_offset_bytes};
        offset += slots * kind->record_floats;
        index_offset_bytes += slots * (int32_t)sizeof(uint16_t);
    }
    return offset;
}

drv_index_layout drv_index_observation(const drv_config *config) {
    enum { aligned_to = 16 };
    drv_observation_set sets[DRV_SET_COUNT];
    lay_out_sets(config, sets);
    const drv_observation_set *last = &sets[DRV_SET_COUNT - 1];
    const int32_t end = last->index_offset_bytes + last->slots * (int32_t)sizeof(uint16_t);
    return (drv_index_layout){head_count_of(config), (end + aligned_to - 1) / aligned_to * aligned_to};
}

int32_t drv_layout_size(const drv_config *config) {
    drv_observation_set sets[DRV_SET_COUNT];
    return lay_out_sets(config, sets);
}

int32_t drv_layout_bytes(const drv_config *config) {
    switch (config->observation_type) {
    case DRV_FLOAT16: return drv_layout_size(config) * (int32_t)sizeof(uint16_t);
    case DRV_INDEX: return drv_index_observation(config).observation_bytes;
    default: return drv_layout_size(config) * (int32_t)sizeof(float);
    }
}

drv_layout drv_layout_of(const drv_config *config) {
    drv_layout layout = {
        .head = head_scales_of(config),
        .vehicle = {drv_layout_scale(config, SCALE_LENGTH), drv_layout_scale(config, SCALE_WIDTH),
                    drv_layout_scale(config, SCALE_SPEED), drv_layout_scale(config, SCALE_OBJECT_KIND)},
        .position_scale = drv_layout_scale(config, SCALE_POSITION),
        .bytes = drv_layout_bytes(config),
        .has_sensor_errors = drv_sensors_have_errors(config),
    };
    layout.weights_at = HEAD_COUNT + hidden_count(config);
    layout.size = lay_out_sets(config, layout.set);
    return layout;
}

int32_t drv_observation_sets(const drv_config *config, drv_observation_set *out, int32_t capacity) {
    drv_observation_set sets[DRV_SET_COUNT];
    lay_out_sets(config, sets);
    for (int32_t i = 0; i < DRV_SET_COUNT && i < capacity; i++) out[i] = sets[i];
    return DRV_SET_COUNT;
}

float drv_position_scale(const drv_config *config) {
    const drv_fp_env saved = drv_fp_env_begin();
    const float scale = drv_layout_scale(config, SCALE_POSITION);
    drv_fp_env_end(saved);
    return scale;
}

int32_t drv_layout_report(const drv_config *config, const drv_feature_kind *features, int32_t count, int32_t offset,
                          int32_t slots, drv_feature *out, int32_t capacity, int32_t written) {
    for (int32_t i = 0; i < count; i++, written++)
        if (written < capacity)
            out[written] = (drv_feature){features[i].name, features[i].unit, features[i].meaning,
                                         drv_layout_scale(config, features[i].scale), features[i].low, offset + i,
                                         slots, count};
    return written;
}

int32_t drv_layout_report_hidden(const drv_config *config, drv_feature *out, int32_t capacity, int32_t written) {
    return drv_layout_report(config, hidden_features, DRV_HIDDEN_COUNT, written, 1, out, capacity, written);
}

int32_t drv_layout_report_weights(const drv_config *config, drv_feature *out, int32_t capacity, int32_t written) {
    const drv_weights weights = drv_weights_of(config);
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++)
        if (drv_weight_has_range(&weights, term))
            written = drv_layout_report(config, &weight_features[term], 1, written, 1, out, capacity, written);
    return written;
}

int32_t drv_observation_layout(const drv_config *config, drv_feature *out, int32_t capacity) {
    drv_observation_set sets[DRV_SET_COUNT];
    const drv_fp_env saved = drv_fp_env_begin();
    lay_out_sets(config, sets);
    int32_t written = drv_layout_report(config, head_features, HEAD_COUNT, 0, 1, out, capacity, 0);
    if (config->reveal_hidden) written = drv_layout_report_hidden(config, out, capacity, written);
    written = drv_layout_report_weights(config, out, capacity, written);
    for (int32_t i = 0; i < DRV_SET_COUNT; i++)
        written = drv_layout_report(config, set_kinds[i].features, sets[i].record_floats, sets[i].offset, sets[i].slots,
                                    out, capacity, written);
    drv_fp_env_end(saved);
    return written;
}
