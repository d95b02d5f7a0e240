/* Four floats at once, on any instruction set: the compiler's portable vectors, no reordering, no contraction. */
#ifndef DRV_VECTOR_H
#define DRV_VECTOR_H

#include <stdint.h>
#include <string.h>

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

/* Each value where the mask is set, the other's elsewhere. */
static inline drv_float4 drv_blend4(drv_int4 mask, drv_float4 value, drv_float4 otherwise) {
    return (drv_float4)((mask & (drv_int4)value) | (~mask & (drv_int4)otherwise));
}

/* Clipped to [-1, 1]. */
static inline drv_float4 drv_limited4(drv_float4 value) {
    const drv_float4 one = {1.0f, 1.0f, 1.0f, 1.0f};
    value = drv_blend4(value > one, one, value);
    return drv_blend4(value < -one, -one, value);
}

#endif
