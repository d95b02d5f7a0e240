/* At which offset of a critic's observation is each feature? */
#include "view/critic.h"

#include "platform/fp_env.h"
#include "view/hidden.h"
#include "view/layout.h"
#include "view/weights.h"

#define X(symbol, name, unit, scale, low, meaning) {name, unit, meaning, scale, low},
static const drv_feature_kind critic_features[] = {CRITIC_FEATURES(X)};
static const drv_feature_kind partner_goal_features[] = {PARTNER_GOAL_FEATURES(X)};
#undef X

drv_critic_offsets drv_critic_offsets_of(const drv_config *config) {
    const bool has_headings = config->goal_heading_tolerance_rad >= 0.0f;
    drv_critic_offsets offsets = {.hidden = has_headings ? CRITIC_COUNT : CRITIC_GOAL_HEADING_X,
                                  .partner_goal_size = has_headings ? PARTNER_GOAL_COUNT : PARTNER_GOAL_HEADING_X,
                                  .has_headings = has_headings};
    offsets.weights = offsets.hidden + (drv_hidden_is_on(config) ? DRV_HIDDEN_COUNT : 0);
    offsets.partner_goals = offsets.weights + drv_weights_count(config);
    offsets.size = offsets.partner_goals + config->partners * offsets.partner_goal_size;
    return offsets;
}

int32_t drv_critic_size(const drv_config *config) { return drv_critic_offsets_of(config).size; }

int32_t drv_critic_layout(const drv_config *config, drv_feature *out, int32_t capacity) {
    const drv_fp_env saved = drv_fp_env_begin();
    const drv_critic_offsets at = drv_critic_offsets_of(config);
    int32_t written = drv_layout_report(config, critic_features, at.hidden, 0, 1, out, capacity, 0);
    if (drv_hidden_is_on(config)) written = drv_layout_report_hidden(config, out, capacity, written);
    written = drv_layout_report_weights(config, out, capacity, written);
    written = drv_layout_report(config, partner_goal_features, at.partner_goal_size, at.partner_goals, config->partners,
                                out, capacity, written);
    drv_fp_env_end(saved);
    return written;
}
