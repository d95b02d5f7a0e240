/* Which weights may the reward terms of an agent have under a config? */
#include "view/weights.h"

#include "platform/error.h"

drv_weights drv_weights_of(const drv_config *config) {
    drv_weights weights;
#define X(symbol, name, member, when, shown)                        \
    weights.weight[DRV_TERM_##symbol] = config->member;             \
    weights.low[DRV_TERM_##symbol] = config->range_##member##_low;  \
    weights.high[DRV_TERM_##symbol] = config->range_##member##_high;
    DRV_REWARD_TERMS(X)
#undef X
    return weights;
}

int32_t drv_weights_count(const drv_config *config) {
    const drv_weights weights = drv_weights_of(config);
    int32_t count = 0;
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++) count += drv_weight_has_range(&weights, term);
    return count;
}

drv_status drv_weights_check(const drv_config *config, char *message) {
    static const char *const names[DRV_TERM_COUNT] = {
#define X(symbol, name, member, when, shown) #member,
        DRV_REWARD_TERMS(X)
#undef X
    };
    const drv_weights weights = drv_weights_of(config);
    for (int32_t term = 0; term < DRV_TERM_COUNT; term++)
        if (!(weights.low[term] <= weights.high[term]))
            return drv_fail(message, DRV_ERROR_CONFIG, "range_%s_low is %.9g; it must be at most range_%s_high, %.9g",
                            names[term], (double)weights.low[term], names[term], (double)weights.high[term]);
    return DRV_OK;
}
