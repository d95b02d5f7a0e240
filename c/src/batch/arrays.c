/* Which arrays does a caller bind, and of which shape? */
#include <stddef.h>

#include "batch/batch.h"

enum { ONE, ACTION, OBSERVATION, IMAGE, CRITIC, MASK, TERMS, TABLE, COPLAYER };

static const struct array {
    drv_array_field field;
    int32_t shape;
} arrays[] = {
#define X(type, name, letter, per, shape, phases, meaning) \
    {{#name, letter, phases, meaning, per, 0, 0, 0, (int32_t)offsetof(drv_arrays, name)}, shape},
    DRV_ARRAYS(X)
#undef X
};

/* The field of an array, with the type and the sizes that it has under a config. */
static drv_array_field shaped(const struct array *array, const drv_config *config, const drv_batch_needs *needs) {
    drv_array_field field = array->field;
    switch (array->shape) {
        case ACTION:
            field.type = config->action_type == DRV_CONTINUOUS ? "f4" : "i8";
            field.columns = needs->action_width > 1 ? needs->action_width : 0;
            break;
        case OBSERVATION:
            field.type = config->observation_type == DRV_INDEX     ? "u1"
                         : config->observation_type == DRV_FLOAT16 ? "f2"
                                                                   : "f4";
            field.columns =
                config->observation_type == DRV_INDEX ? needs->observation_bytes : needs->observation_size;
            break;
        case IMAGE:
            field.columns = needs->image_layers;
            field.depth = field.width = needs->image_size;
            break;
        case CRITIC: field.columns = needs->critic_size; break;
        case MASK: field.columns = needs->mask_size; break;
        case TERMS: field.columns = DRV_TERM_COUNT; break;
        case TABLE:
            field.columns = 1 + needs->vehicles_per_world;
            field.depth = DRV_RECORD_FLOATS;
            break;
        default: break;
    }
    return field;
}

/* Whether a batch of this config has an array of this shape. */
static bool is_bound(int32_t shape, const drv_config *config) {
    switch (shape) {
        case IMAGE: return config->observation_type == DRV_IMAGE;
        case CRITIC: return config->critic_observations;
        case MASK: return config->action_mask;
        case COPLAYER: return config->coplayers > 0.0f;
        case TERMS: return config->reward_terms;
        case TABLE: return config->observation_type == DRV_INDEX;
        default: return true;
    }
}

int32_t drv_array_fields(const drv_config *config, const drv_batch_needs *needs, drv_array_field *out,
                         int32_t capacity) {
    int32_t count = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        if (!is_bound(arrays[i].shape, config)) continue;
        if (count < capacity) out[count] = shaped(&arrays[i], config, needs);
        count++;
    }
    return count;
}
