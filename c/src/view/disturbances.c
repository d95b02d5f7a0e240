/* Which disturbances may agents have under a config? */
#include "view/disturbances.h"

#include "platform/error.h"

drv_status drv_disturbances_check(const drv_config *config, char *message) {
    if (config->disturbance_partner_blindness > 0.0f && config->partners == 0)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "disturbance_partner_blindness is %.9g; with partners 0 it must be 0",
                        (double)config->disturbance_partner_blindness);
    const bool has_brake = config->dynamics != DRV_DELTA_LOCAL && config->dynamics != DRV_STATE;
    if (config->disturbance_phantom_braking > 0.0f && !has_brake)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "disturbance_phantom_braking is %.9g; with dynamics %d, which has no brake, it must be 0",
                        (double)config->disturbance_phantom_braking, config->dynamics);
    return DRV_OK;
}
