/* Which errors do the sensors of agents have under a config? */
#ifndef DRV_SENSORS_H
#define DRV_SENSORS_H

#include <stdbool.h>

#include "drive.h"

/* The errors of the records of a set: standard deviations, and the probability that a record is missing. */
typedef struct drv_record_errors {
    float position_m, heading_rad, speed_mps, dropout;
} drv_record_errors;

/* Whether records that are not missing have noise. */
static inline bool drv_records_have_noise(drv_record_errors errors) {
    return errors.position_m > 0.0f || errors.heading_rad > 0.0f || errors.speed_mps > 0.0f;
}

/* Returns the errors of the records of a set of view/layout.h. */
drv_record_errors drv_record_errors_of(const drv_config *config, int32_t set);

/* Whether the config has any error of sensors. */
bool drv_sensors_have_errors(const drv_config *config);

/* Checks that each error has an effect: those of records need slots, and their noise has none in index observations. */
drv_status drv_sensors_check(const drv_config *config, char *message);

#endif
