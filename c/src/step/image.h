/* What does an agent observe as an image? */
#ifndef DRV_STEP_IMAGE_H
#define DRV_STEP_IMAGE_H

#include "platform/isa.h"
#include "step/state.h"

/* Sets the image of an agent to 0. */
DRV_STEP_API void drv_image_clear(const drv_world *world, int32_t agent);

/* Writes the images of the chosen agents, which are on the map; needs the list of drv_on_map_list. */
DRV_STEP_API void drv_images_write(const drv_world *world, const uint8_t *chosen, const drv_scratch *scratch);

#endif
