/* Four floats at once, on any instruction set: the compiler's portable vectors, no reordering, no contraction. */
#ifndef DRV_VECTOR_H
#define DRV_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef float drv_float4 __attribute__((vector_size(16)));
typedef int32_t drv_int4 __attribute__((vector_size(16)));

static inline drv_float4 drv_load4(const float *from) {
    drv_float4 value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline void drv_store4(float *to, drv_float4 value) { memcpy(to, &value, sizeof value); }

/* (a, b, c, d) to (b, a, d, c). */
static inline drv_float4 drv_swap_pairs4(drv_float4 value) {
#if defined(__clang__)
    return __builtin_shufflevector(value, value, 1, 0, 3, 2);
#else
    return __builtin_shuffle(value, (drv_int4){1, 0, 3, 2});
#endif
}

/* Clipped to [-1, 1]; the values are finite, so every form gives the same bits. */
static inline drv_float4 drv_limited4(drv_float4 value) {
    const drv_float4 one = {1.0f, 1.0f, 1.0f, 1.0f};
#if defined(__SSE2__)
    return (drv_float4)_mm_max_ps(_mm_min_ps((__m128)value, (__m128)one), (__m128)-one);
#else
    const drv_int4 above = value > one, below = value < -one;
    value = (drv_float4)((above & (drv_int4)one) | (~above & (drv_int4)value));
    return (drv_float4)((below & (drv_int4)-one) | (~below & (drv_int4)value));
#endif
}

#endif
