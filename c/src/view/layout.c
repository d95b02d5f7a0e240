/* Where does a number stand in an agent, and how is it scaled? */
#include "view/layout.h"

#include "math/geometry.h"
#include "platform/fp_env.h"
#include "scene/scene.h"

_Static_assert(TRIAL_OUTCOME_OTHER - TRIAL_OUTCOME_NONE == DRV_OUTCOME_OTHER - DRV_OUTCOME_NONE,
               "one feature an outcome, in the order of drv_outcome");

typedef struct feature {
    const char *name, *unit, *meaning;
    drv_scale scale;
    float low;
} feature;

#define X(symbol, name, unit, scale, low, meaning) {name, unit, meaning, scale, low},
static const feature head_features[] = {EGO_FEATURES(X) TRIAL_FEATURES(X)};
static const feature partner_features[] = {PARTNER_FEATURES(X)};
static const feature road_features[] = {ROAD_FEATURES(X)};
#undef X

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
    case SCALE_DISTANCE: return 0.25f / config->view_radius_m; /* goals may lie beyond what is seen */
    case SCALE_TRIAL: return 1.0f / (float)config->max_trials;
    case SCALE_REWARD: {
        /* The events, which are what a later trial can learn from; progress is small beside them, or is clipped. */
        const float terms[] = {config->reward_goal, config->reward_collision, config->reward_offroad};
        float best = 0.0f, worst = 0.0f;
        for (size_t term = 0; term < sizeof terms / sizeof *terms; term++) {
            best += drv_larger(terms[term], 0.0f);
            worst += drv_larger(-terms[term], 0.0f);
        }
        return 1.0f / drv_larger(1.0f, drv_larger(best, worst));
    }
    case SCALE_OBJECT_KIND: return 1.0f / (float)DRV_OBJECT_OTHER;
    case SCALE_HALF_SEGMENT: return 2.0f / drv_segment_limit_m;
    case SCALE_LANE_WIDTH: return 1.0f / 10.0f; /* wider than any lane */
    case SCALE_ROAD_KIND: return 1.0f / 8.0f; /* exact in binary, and one more than there are kinds */
    }
    return 1.0f;
}

drv_head_scales drv_layout_head(const drv_config *config) {
    drv_head_scales head;
    for (int32_t i = 0; i < HEAD_COUNT; i++) {
        head.scale[i] = drv_layout_scale(config, head_features[i].scale);
        head.low[i] = head_features[i].low;
    }
    return head;
}

int32_t drv_layout_size(const drv_config *config) {
    return HEAD_COUNT + config->partners * PARTNER_COUNT + config->roads * ROAD_COUNT;
}

drv_observation_place drv_index_observation(const drv_config *config) {
    enum { aligned_to = 16 };
    const int32_t partners = HEAD_COUNT * (int32_t)sizeof(float);
    const int32_t roads = partners + config->partners * (int32_t)sizeof(uint16_t);
    const int32_t end = roads + config->roads * (int32_t)sizeof(uint16_t);
    return (drv_observation_place){HEAD_COUNT, 0, partners, roads, (end + aligned_to - 1) / aligned_to * aligned_to};
}

int32_t drv_layout_bytes(const drv_config *config) {
    switch (config->observation_type) {
    case DRV_FLOAT16: return drv_layout_size(config) * (int32_t)sizeof(uint16_t);
    case DRV_INDEX: return drv_index_observation(config).observation_bytes;
    default: return drv_layout_size(config) * (int32_t)sizeof(float);
    }
}

float drv_position_scale(const drv_config *config) {
    const drv_fp_env callers = drv_fp_env_begin();
    const float scale = drv_layout_scale(config, SCALE_POSITION);
    drv_fp_env_end(callers);
    return scale;
}

int32_t drv_observation_layout(const drv_config *config, drv_feature *out, int32_t capacity) {
    const struct {
        const feature *features;
        int32_t count, slots;
    } blocks[] = {{head_features, HEAD_COUNT, 1},
                  {partner_features, PARTNER_COUNT, config->partners},
                  {road_features, ROAD_COUNT, config->roads}};
    const drv_fp_env callers = drv_fp_env_begin();
    int32_t written = 0, offset = 0;
    for (size_t block = 0; block < sizeof blocks / sizeof *blocks; block++) {
        for (int32_t i = 0; i < blocks[block].count; i++, written++) {
            const feature *shown = &blocks[block].features[i];
            if (written < capacity)
                out[written] = (drv_feature){shown->name, shown->unit, shown->meaning,
                                             drv_layout_scale(config, shown->scale), shown->low, offset + i,
                                             blocks[block].slots, blocks[block].count};
        }
        offset += blocks[block].count * blocks[block].slots;
    }
    drv_fp_env_end(callers);
    return written;
}
