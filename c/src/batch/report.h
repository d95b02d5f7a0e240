/* What do we report? */
#ifndef DRV_REPORT_H
#define DRV_REPORT_H

#include "step/state.h"

typedef struct drv_mean {
    double sum;
    int64_t n;
} drv_mean;

/* Adds a world's agents that have data to the mean of a metric in one trial (trial < 0: over an agent's trials). */
void drv_report_metric(const drv_world *world, int32_t metric, int32_t trial, drv_mean *mean);
/* Adds the agents that have both: score in `trial` minus score in trial 0. */
void drv_report_adaptation(const drv_world *world, int32_t trial, drv_mean *mean);
int64_t drv_report_trials(const drv_world *world);

#endif
