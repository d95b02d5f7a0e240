/* Which normally distributed numbers do random bits stand for? The transform of Box and Muller (1958), by functions
 * whose results are the same everywhere. */
#ifndef DRV_NORMAL_H
#define DRV_NORMAL_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "math/geometry.h"

/* Returns the natural logarithm of a float above 0 that is not denormal. The error is at most 1e-6 times the result, or
 * 1e-7 near 1. */
static inline float drv_logarithm(float value) {
    /* value = mantissa * 2^exponent, with a mantissa in [sqrt(1/2), sqrt(2)) */
    const float root2 = 1.41421356f, log2 = 0.693147181f;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    int32_t exponent = (int32_t)(bits >> 23) - 127;
    bits = (bits & 0x007fffffu) | 0x3f800000u;
    float mantissa;
    memcpy(&mantissa, &bits, sizeof mantissa);
    const bool above = mantissa >= root2;
    mantissa = above ? 0.5f * mantissa : mantissa;
    exponent += above;
    /* the series of the inverse hyperbolic tangent, whose next term is below 1e-9 */
    const float s = (mantissa - 1.0f) / (mantissa + 1.0f), s2 = s * s;
    const float series = 1.0f + s2 * (1.0f / 3.0f + s2 * (1.0f / 5.0f + s2 * (1.0f / 7.0f + s2 * (1.0f / 9.0f))));
    return (float)exponent * log2 + 2.0f * s * series;
}

/* Returns two independent numbers of the standard normal distribution for 64 random bits. As a vector, their length
 * depends on the upper 32 bits and is at most 6.7; their angle has 2^24 values. */
static inline drv_point drv_normal_pair(uint64_t bits) {
    const float share = ((float)(uint32_t)(bits >> 32) + 1.0f) * 0x1p-32f; /* in (0, 1] */
    const float angle_rad = ((float)(uint32_t)(bits & 0xffffffu) * 0x1p-23f - 1.0f) * drv_pi;
    const float radius = sqrtf(drv_larger(-2.0f * drv_logarithm(share), 0.0f));
    const drv_point ahead = drv_direction(angle_rad);
    return (drv_point){radius * ahead.x, radius * ahead.y};
}

#endif
