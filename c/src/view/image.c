/* Which layers does the image of an agent have, and how many bytes? */
#include "view/image.h"

#include "platform/error.h"

static const drv_image_layer_kind kinds[] = {
#define X(symbol, name, meaning) {#name, meaning},
    DRV_IMAGE_LAYERS(X)
#undef X
};

int32_t drv_image_layer_kinds(drv_image_layer_kind *out, int32_t capacity) {
    for (int32_t i = 0; i < DRV_IMAGE_LAYER_COUNT && i < capacity; i++) out[i] = kinds[i];
    return DRV_IMAGE_LAYER_COUNT;
}

int32_t drv_image_layers(const drv_config *config) {
    int32_t count = 0;
    for (int32_t layer = 0; layer < DRV_IMAGE_LAYER_COUNT; layer++) count += config->image_layers >> layer & 1;
    return count;
}

int32_t drv_image_bytes(const drv_config *config) {
    return drv_image_layers(config) * config->image_size * config->image_size;
}

drv_status drv_image_check(const drv_config *config, char *message) {
    if (drv_image_has(config, DRV_IMAGE_CONTROLS) && !config->traffic_controls)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "image_layers is %d; without traffic_controls it must not have layer %d, controls",
                        config->image_layers, DRV_IMAGE_CONTROLS);
    return DRV_OK;
}
