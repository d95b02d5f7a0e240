/* Which metrics does a trial of an agent have? The value of a metric for one trial is a figure.
 *
 * X(SYMBOL, "name", value). The value is an expression in variables of metrics.c: `world`, `agent`, and, of the agent's
 * trial, `driven_s`, the sum `reward` and the sums `terms` by term. A figure per reward term is added to these. */
#ifndef DRV_METRICS_H
#define DRV_METRICS_H

#include "drive.h"

#define DRV_METRICS(X)                                                               \
    X(SCORE, "score", world->scored[agent])                                          \
    X(GOAL, "goal", world->had_goal[agent])                                          \
    X(COLLISION, "collision", world->had_collision[agent])                           \
    X(OFFROAD, "offroad", world->had_offroad[agent])                                 \
    X(TIMEOUT, "timeout", world->outcome[agent] == DRV_OUTCOME_TIMEOUT)              \
    X(TRIAL_LENGTH, "trial_length", world->steps_driven[agent])                      \
    X(DISTANCE, "distance_m", world->distance_m[agent])                              \
    X(MEAN_SPEED, "mean_speed_mps", world->distance_m[agent] / driven_s)             \
    X(REWARD, "reward", reward)

enum {
#define X(symbol, name, value) METRIC_##symbol,
    DRV_METRICS(X)
#undef X
#define X(symbol, name, weight, when) METRIC_REWARD_##symbol,
    DRV_REWARD_TERMS(X)
#undef X
    METRIC_COUNT
};

_Static_assert((int)METRIC_SCORE == (int)DRV_METRIC_SCORE, "the public header names the first figure");

#endif
