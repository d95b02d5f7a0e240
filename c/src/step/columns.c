/* Which reward terms, which metrics and which facts for them does a batch have? */
#include "step/columns.h"

#include "step/metrics.h"
#include "view/weights.h"

/* Names of each term, and of the metric that is its sum over a trial. */
static const struct {
    const char *term, *metric;
} names[DRV_TERM_COUNT] = {
#define X(symbol, name, weight, when, shown) {#name, "reward_" #name},
    DRV_REWARD_TERMS(X)
#undef X
};

/* Whether the term may have a weight other than 0. */
static bool is_weighted(const drv_weights *weights, int32_t term) {
    return weights->weight[term] != 0.0f || drv_weight_has_range(weights, term);
}

/* Whether terms use the facts of one kind. */
static bool uses(const drv_config *config, int32_t kind) {
    const drv_weights weights = drv_weights_of(config);
    bool used = config->reward_terms;
#define X(symbol, name, weight, when, shown) \
    used = used || ((int32_t)(shown) == kind && is_weighted(&weights, DRV_TERM_##symbol));
    DRV_REWARD_TERMS(X)
#undef X
    return used;
}

drv_columns drv_columns_of(const drv_config *config) {
    const drv_weights weights = drv_weights_of(config);
    drv_columns columns = {.lane = config->detailed_metrics || uses(config, WEIGHTED_LANE),
                           .comfort = config->detailed_metrics || uses(config, WEIGHTED_COMFORT),
                           .proximity = config->detailed_metrics || uses(config, WEIGHTED_PROXIMITY),
                           .log = uses(config, WEIGHTED_LOG),
                           .route = config->critic_observations || config->route > 0 || uses(config, WEIGHTED_ROUTE)};
#define X(symbol, name, weight, when, shown) \
    if (shown == ALWAYS || is_weighted(&weights, DRV_TERM_##symbol)) columns.term[columns.terms++] = DRV_TERM_##symbol;
    DRV_REWARD_TERMS(X)
#undef X
    columns.metrics = columns.terms;
#define X(symbol, name, shown, value) columns.metrics += (shown) ? 1 : 0;
    DRV_METRICS(X)
#undef X
    return columns;
}

int32_t drv_scene_parts_of(const drv_config *config) {
    const drv_columns columns = drv_columns_of(config);
    return (columns.log ? DRV_SCENE_AGENT_LOGS : 0) | (columns.route ? DRV_SCENE_ROUTES : 0) |
           (config->on_goal == DRV_NEXT || config->goals > 0 ? DRV_SCENE_LANE_GRAPH : 0) |
           (config->idm_lane_changes ? DRV_SCENE_LANE_CHANGES : 0);
}

int32_t drv_term_names(const char **out, int32_t capacity) {
    for (int32_t term = 0; term < DRV_TERM_COUNT && term < capacity; term++) out[term] = names[term].term;
    return DRV_TERM_COUNT;
}

int32_t drv_metric_names(const drv_config *config, const char **out, int32_t capacity) {
    const drv_columns columns = drv_columns_of(config);
    int32_t count = 0;
#define X(symbol, name, shown, value)             \
    if (shown) {                                  \
        if (count < capacity) out[count] = name;  \
        count++;                                  \
    }
    DRV_METRICS(X)
#undef X
    for (int32_t i = 0; i < columns.terms; i++, count++)
        if (count < capacity) out[count] = names[columns.term[i]].metric;
    return count;
}
