/* Which disturbances may agents have under a config? */
#include "view/disturbances.h"

#include "platform/error.h"
#include "view/image.h"

drv_status drv_disturbances_check(const drv_config *config, char *message) {
    const bool observes_partners = config->partners > 0 || drv_image_has(config, DRV_IMAGE_PARTNERS);
    if (config->disturbance_partner_blindness > 0.0f && !observes_partners)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "disturbance_partner_blindness is %.9g; where no partner is observed it must be 0",
                        (double)config->disturbance_partner_blindness);
    const bool has_brake = config->dynamics != DRV_DELTA_LOCAL && config->dynamics != DRV_STATE;
    if (config->disturbance_phantom_braking > 0.0f && !has_brake)
        return drv_fail(message, DRV_ERROR_CONFIG,
                        "disturbance_phantom_braking is %.9g; with dynamics %d, which has no brake, it must be 0",
                        (double)config->disturbance_phantom_braking, config->dynamics);
    return DRV_OK;
}
