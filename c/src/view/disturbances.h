/* Which disturbances may agents have under a config? */
#ifndef DRV_VIEW_DISTURBANCES_H
#define DRV_VIEW_DISTURBANCES_H

#include <stdbool.h>

#include "drive.h"

static inline bool drv_disturbances_are_on(const drv_config *config) {
    return config->disturbance_partner_blindness > 0.0f || config->disturbance_phantom_braking > 0.0f;
}

/* Checks that each disturbance has an effect: there are vehicles to observe, and the vehicle model has a brake. */
drv_status drv_disturbances_check(const drv_config *config, char *message);

#endif
