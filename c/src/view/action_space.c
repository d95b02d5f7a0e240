/* Which actions does a config offer, and which controls does each stand for? */
#include "view/action_space.h"

#include "platform/fp_env.h"

/* Codes of the rows of DRV_CONTROLS, from 1; 0 is none. */
enum {
    DRV_CONTROL_NONE = 0,
#define X(symbol, name, unit, low, high, bins, ...) DRV_CONTROL_##symbol,
    DRV_CONTROLS(X)
#undef X
    DRV_CONTROL_END
};

static const int32_t bins_of_control[DRV_CONTROL_END] = {
#define X(symbol, name, unit, low, high, bins, ...) [DRV_CONTROL_##symbol] = bins,
    DRV_CONTROLS(X)
#undef X
};

/* Values of bins, 0 alone where they are evenly spaced. */
static const float values_of_control[DRV_CONTROL_END][DRV_ACTION_BIN_LIMIT] = {
#define X(symbol, name, unit, low, high, bins, ...) [DRV_CONTROL_##symbol] = {__VA_ARGS__},
    DRV_CONTROLS(X)
#undef X
};

#define X(symbol, name, unit, low, high, bins, ...) \
    _Static_assert(bins <= DRV_ACTION_BIN_LIMIT, "bins fit drv_action_dimension");
DRV_CONTROLS(X)
#undef X

/* The controls of each model; unused ones are none. */
static const int32_t controls_of[DRV_DYNAMICS_COUNT][DRV_ACTION_DIMENSIONS] = {
#define X(symbol, name, ...) [DRV_##symbol] = {__VA_ARGS__},
    DRV_DYNAMICS(X)
#undef X
};

/* Share of the limit that a bin stands for: evenly spaced from -1 to 1. */
static float bin_share(int32_t bin, int32_t bins) {
    const int32_t middle = bins / 2;
    return (float)(bin - middle) / (float)middle;
}

/* Not inlined, so that the compiler moves no computation out of the core's floating-point environment. */
__attribute__((noinline)) static drv_action_dimension dimension_of(const drv_config *config, int32_t control) {
    const drv_action_dimension all[DRV_CONTROL_END] = {
#define X(symbol, name_, unit_, low_, high_, bins_, ...) \
    [DRV_CONTROL_##symbol] = {.name = name_, .unit = unit_, .low = low_, .high = high_, .bins = bins_},
        DRV_CONTROLS(X)
#undef X
    };
    drv_action_dimension dimension = all[control];
    const float *values = values_of_control[control];
    for (int32_t bin = 0; bin < dimension.bins; bin++) {
        dimension.share[bin] =
            values[0] == 0.0f ? bin_share(bin, dimension.bins) : drv_share_of_control(&dimension, values[bin]);
        dimension.value[bin] = drv_control_of_share(&dimension, dimension.share[bin]);
    }
    return dimension;
}

drv_action_space drv_action_space_of(const drv_config *config) {
    const drv_fp_env callers = drv_fp_env_begin();
    drv_action_space space = {.type = config->action_type, .count = 1, .low = -1.0f, .high = 1.0f};
    const int32_t *controls = controls_of[config->dynamics];
    for (int32_t i = 0; i < DRV_ACTION_DIMENSIONS && controls[i] != DRV_CONTROL_NONE; i++) {
        space.dimension[i] = dimension_of(config, controls[i]);
        space.count *= space.dimension[i].bins;
        space.dimensions++;
    }
    space.width = space.type == DRV_DISCRETE ? 1 : space.dimensions;
    drv_fp_env_end(callers);
    return space;
}

int32_t drv_action_mask_size(const drv_action_space *space) {
    int32_t bins = 0;
    for (int32_t i = 0; i < space->dimensions; i++) bins += space->dimension[i].bins;
    return space->type == DRV_DISCRETE ? space->count : bins;
}

int32_t drv_action_mask_is_offered(int32_t dynamics) { return controls_of[dynamics][0] == DRV_CONTROL_ACCELERATION; }

int32_t drv_action_types_of(int32_t dynamics) {
    const int32_t *controls = controls_of[dynamics];
    bool tables = true;
    for (int32_t i = 0; i < DRV_ACTION_DIMENSIONS; i++)
        tables &= controls[i] == DRV_CONTROL_NONE || bins_of_control[controls[i]] > 0;
    return 1 << DRV_CONTINUOUS | (tables ? 1 << DRV_DISCRETE | 1 << DRV_MULTI_DISCRETE : 0);
}
