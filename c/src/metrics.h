/* What do we report? */
#ifndef DRV_METRICS_H
#define DRV_METRICS_H

#include "state.h"

typedef struct drv_mean {
    double sum;
    int64_t n;
} drv_mean;

/* Adds a world's rows that have data to the mean of a metric in one trial (trial < 0: over a row's trials). */
void drv_metrics_gather(const drv_world *world, int32_t metric, int32_t trial, drv_mean *mean);
/* Adds the rows that have both: score in `trial` minus score in trial 0. */
void drv_metrics_gather_adaptation(const drv_world *world, int32_t trial, drv_mean *mean);
int64_t drv_metrics_trials(const drv_world *world);

#endif
