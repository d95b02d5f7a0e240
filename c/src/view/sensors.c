/* Which errors do the sensors of agents have under a config? */
#include "view/sensors.h"

#include "platform/error.h"
#include "view/layout.h"

drv_record_errors drv_record_errors_of(const drv_config *config, int32_t set) {
    switch (set) {
    case DRV_SET_PARTNERS:
        return (drv_record_errors){config->sensor_partner_position_noise_m, config->sensor_partner_heading_noise_rad,
                                   config->sensor_partner_speed_noise_mps, config->sensor_partner_dropout};
    case DRV_SET_ROADS:
        return (drv_record_errors){config->sensor_road_position_noise_m, config->sensor_road_heading_noise_rad, 0.0f,
                                   config->sensor_road_dropout};
    default: return (drv_record_errors){0};
    }
}

bool drv_sensors_have_errors(const drv_config *config) {
    bool have = config->sensor_ego_speed_noise_mps > 0.0f || config->sensor_goal_position_noise_m > 0.0f ||
                config->disturbance_partner_blindness > 0.0f;
    for (int32_t set = 0; set < DRV_SET_COUNT; set++) {
        const drv_record_errors errors = drv_record_errors_of(config, set);
        have |= drv_records_have_noise(errors) || errors.dropout > 0.0f;
    }
    return have;
}

drv_status drv_sensors_check(const drv_config *config, char *message) {
    drv_observation_set sets[DRV_SET_COUNT];
    drv_observation_sets(config, sets, DRV_SET_COUNT);
    for (int32_t set = 0; set < DRV_SET_COUNT; set++) {
        const drv_record_errors errors = drv_record_errors_of(config, set);
        if (drv_records_have_noise(errors) && config->observation_type == DRV_INDEX)
            return drv_fail(message, DRV_ERROR_CONFIG,
                            "the noise of %s is %.9g m, %.9g rad, %.9g m/s; in index observations it must be 0",
                            sets[set].name, (double)errors.position_m, (double)errors.heading_rad,
                            (double)errors.speed_mps);
        if ((drv_records_have_noise(errors) || errors.dropout > 0.0f) && sets[set].slots == 0)
            return drv_fail(message, DRV_ERROR_CONFIG, "%s have sensor errors and 0 slots; they must have 1 or more",
                            sets[set].name);
    }
    return DRV_OK;
}
