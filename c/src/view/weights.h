/* Which weights may the reward terms of an agent have under a config? */
#ifndef DRV_WEIGHTS_H
#define DRV_WEIGHTS_H

#include <stdbool.h>

#include "drive.h"

/* The weight of each term, and the range from which it is drawn; both ends are 0 where it is not. */
typedef struct drv_weights {
    float weight[DRV_TERM_COUNT], low[DRV_TERM_COUNT], high[DRV_TERM_COUNT];
} drv_weights;

drv_weights drv_weights_of(const drv_config *config);

/* Whether the term has a range: its weight then is a feature of observations. */
static inline bool drv_weight_has_range(const drv_weights *weights, int32_t term) {
    return weights->low[term] != 0.0f || weights->high[term] != 0.0f;
}

/* The number of terms that have a range. */
int32_t drv_weights_count(const drv_config *config);

/* Checks that no range ends below its beginning. */
drv_status drv_weights_check(const drv_config *config, char *message);

#endif
