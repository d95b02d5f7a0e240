/* Which layers does the image of an agent have, and how many bytes? */
#ifndef DRV_VIEW_IMAGE_H
#define DRV_VIEW_IMAGE_H

#include <stdbool.h>

#include "drive.h"

/* Whether images have a layer, one of drv_image_layer. */
static inline bool drv_image_has(const drv_config *config, int32_t layer) {
    return config->observation_type == DRV_IMAGE && (config->image_layers >> layer & 1);
}

int32_t drv_image_layers(const drv_config *config); /* their number */
int32_t drv_image_bytes(const drv_config *config);  /* of an agent */

/* Checks that the layers have something to show. */
drv_status drv_image_check(const drv_config *config, char *message);

#endif
