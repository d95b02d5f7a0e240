/* Which hidden parameters vary under a config, and within which ranges? */
#include "view/hidden.h"

#include <math.h>

#include "platform/error.h"
#include "view/action_space.h"

static const char *const hidden_names[] = {
#define X(symbol, name, neutral, lowest, highest, meaning) #name,
    DRV_HIDDEN(X)
#undef X
};

const char *drv_hidden_name(int32_t parameter) {
    return parameter >= 0 && parameter < DRV_HIDDEN_COUNT ? hidden_names[parameter] : "";
}

float drv_hidden_neutral(const drv_config *config, int32_t parameter) {
    switch (parameter) {
#define X(symbol, name, neutral, lowest, highest, meaning) \
    case DRV_HIDDEN_##symbol: return (float)(neutral);
        DRV_HIDDEN(X)
#undef X
        default: return 0.0f;
    }
}

int32_t drv_hidden_parameters_of(int32_t dynamics) {
    enum {
        STEERS = 1 << DRV_HIDDEN_STEERING_GAIN,
        TURNS_WHEELS = STEERS | 1 << DRV_HIDDEN_STEERING_OFFSET,
        HAS_PEDALS = 1 << DRV_HIDDEN_THROTTLE_GAIN | 1 << DRV_HIDDEN_BRAKE_GAIN,
        HAS_AXLES = 1 << DRV_HIDDEN_WHEELBASE,
        IS_LATE = 1 << DRV_HIDDEN_ACTION_DELAY
    };
    switch (dynamics) {
        case DRV_BICYCLE:
        case DRV_CLASSIC: return TURNS_WHEELS | HAS_PEDALS | HAS_AXLES | IS_LATE;
        case DRV_GRIP: return TURNS_WHEELS | HAS_PEDALS | HAS_AXLES | IS_LATE | 1 << DRV_HIDDEN_FRICTION;
        case DRV_INVERTIBLE_BICYCLE: return STEERS | HAS_PEDALS | IS_LATE;
        case DRV_SINGLE_TRACK: return TURNS_WHEELS | HAS_PEDALS | IS_LATE;
        case DRV_JERK: return HAS_AXLES | IS_LATE;
        case DRV_DELTA_LOCAL: return IS_LATE;
        default: return 0;
    }
}

drv_hidden_ranges drv_hidden_ranges_of(const drv_config *config) {
    return (drv_hidden_ranges){{
#define X(symbol, name, neutral, lowest, highest, meaning) {config->hidden_##name##_low, config->hidden_##name##_high},
        DRV_HIDDEN(X)
#undef X
    }};
}

bool drv_hidden_is_on(const drv_config *config) {
    const drv_hidden_ranges ranges = drv_hidden_ranges_of(config);
    bool varies = config->hidden_steering_flip > 0.0f;
    for (int32_t i = 0; i < DRV_HIDDEN_COUNT; i++) varies |= drv_hidden_has_range(ranges.of[i]);
    return varies || config->reveal_hidden;
}

bool drv_hidden_commands_steering(const drv_config *config) {
    return drv_hidden_is_on(config) && drv_hidden_parameters_of(config->dynamics) >> DRV_HIDDEN_STEERING_GAIN & 1;
}

static const drv_hidden_range limits[DRV_HIDDEN_COUNT] = {
#define X(symbol, name, neutral, lowest, highest, meaning) {(float)(lowest), (float)(highest)},
    DRV_HIDDEN(X)
#undef X
};

drv_status drv_hidden_check(const drv_config *config, char *message) {
    const drv_hidden_ranges ranges = drv_hidden_ranges_of(config);
    const int32_t has = drv_hidden_parameters_of(config->dynamics);
    for (int32_t i = 0; i < DRV_HIDDEN_COUNT; i++) {
        const drv_hidden_range range = ranges.of[i];
        if (!drv_hidden_has_range(range)) continue;
        if (!(range.low >= limits[i].low && range.low <= range.high && range.high <= limits[i].high))
            return drv_fail(message, DRV_ERROR_CONFIG, "hidden_%s is %.9g to %.9g; it must be a range in %g to %g",
                            hidden_names[i], (double)range.low, (double)range.high, (double)limits[i].low,
                            (double)limits[i].high);
        if (!(has >> i & 1))
            return drv_fail(message, DRV_ERROR_CONFIG,
                            "hidden_%s is %.9g to %.9g; dynamics %d has no such parameter, so it must be 0 to 0",
                            hidden_names[i], (double)range.low, (double)range.high, config->dynamics);
    }
    if (config->hidden_steering_flip > 0.0f && !(has >> DRV_HIDDEN_STEERING_GAIN & 1))
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "hidden_steering_flip is %.9g; with dynamics %d, which has no steering, it must be 0",
                        (double)config->hidden_steering_flip, config->dynamics);
    return DRV_OK;
}
