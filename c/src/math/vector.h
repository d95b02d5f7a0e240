/* SIMD operations for the instruction set of the translation unit; every implementation gives the same bits.
 *
 * Arrays are read in blocks of DRV_WIDTH or two of them, so callers pad them by DRV_SIMD_PAD entries. */
#ifndef DRV_VECTOR_H
#define DRV_VECTOR_H

#include <stdint.h>
#include <string.h>

#include "drive.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__AVX2__)
#include "math/compress_table.h"
#endif

enum { DRV_SIMD_PAD = 16 };

/* ---- records: eight floats, of which the first four are a position and a direction ---- */

/* Transform of a record into another frame: position and direction w, less the origin, are rotated by
 * `out = w * along + swapped(w) * across`, where swapped(a, b, c, d) is (b, a, d, c). In the other four entries origin
 * and across are 0 and along is 1, the identity. */
typedef struct drv_view {
    float origin[DRV_RECORD_FLOATS], along[DRV_RECORD_FLOATS], across[DRV_RECORD_FLOATS];
} drv_view;

static inline const float *drv_record(const float *records, int32_t index) {
    return records + (int64_t)index * DRV_RECORD_FLOATS;
}

#if defined(__AVX2__)

/* Writes the i-th chosen record, transformed and clipped to [-1, 1], to slot i of `out`; the values are finite. */
static inline void drv_transform8(const float *records, const int32_t *chosen, int32_t i, __m256 origin, __m256 along,
                                  __m256 across, float *out) {
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 offset = _mm256_sub_ps(_mm256_loadu_ps(drv_record(records, chosen[i])), origin);
    const __m256 turned = _mm256_add_ps(_mm256_mul_ps(offset, along),
                                        _mm256_mul_ps(_mm256_permute_ps(offset, 0xb1), across));
    _mm256_storeu_ps(out + (int64_t)i * DRV_RECORD_FLOATS,
                     _mm256_max_ps(_mm256_min_ps(turned, one), _mm256_sub_ps(_mm256_setzero_ps(), one)));
}

#else

typedef float drv_float4 __attribute__((vector_size(16)));
typedef int32_t drv_int4 __attribute__((vector_size(16)));

static inline drv_float4 drv_load4(const float *from) {
    drv_float4 value;
    memcpy(&value, from, sizeof value);
    return value;
}

static inline drv_float4 drv_swap_pairs4(drv_float4 value) {
#if defined(__clang__)
    return __builtin_shufflevector(value, value, 1, 0, 3, 2);
#else
    return __builtin_shuffle(value, (drv_int4){1, 0, 3, 2});
#endif
}

/* Clips to [-1, 1]; the values are finite. */
static inline drv_float4 drv_clip4(drv_float4 value) {
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

/* Writes the chosen records, transformed by `view`, to consecutive slots. */
static inline void drv_transform_records(const float *records, const int32_t *chosen, int32_t count,
                                         const drv_view *view, float *out) {
    int32_t i = 0;
#if defined(__AVX2__)
    const __m256 origin = _mm256_loadu_ps(view->origin), along = _mm256_loadu_ps(view->along);
    const __m256 across = _mm256_loadu_ps(view->across);
    for (; i + 3 < count; i += 4) {
        drv_transform8(records, chosen, i, origin, along, across, out);
        drv_transform8(records, chosen, i + 1, origin, along, across, out);
        drv_transform8(records, chosen, i + 2, origin, along, across, out);
        drv_transform8(records, chosen, i + 3, origin, along, across, out);
    }
    for (; i < count; i++) drv_transform8(records, chosen, i, origin, along, across, out);
#else
    const drv_float4 origin = drv_load4(view->origin), along = drv_load4(view->along), across = drv_load4(view->across);
    for (; i < count; i++) {
        const float *record = drv_record(records, chosen[i]);
        float *slot = out + (int64_t)i * DRV_RECORD_FLOATS;
        const drv_float4 offset = drv_load4(record) - origin;
        const drv_float4 turned = drv_clip4(offset * along + drv_swap_pairs4(offset) * across);
        memcpy(slot, &turned, sizeof turned);
        memcpy(slot + 4, record + 4, 4 * sizeof(float));
    }
#endif
}

/* ---- arrays ---- */

/* The SIMD width in elements. Runs of candidates are short and unaligned: 64-byte registers would gain nothing. */
#if defined(__AVX2__)
enum { DRV_WIDTH = 8 };
#else
enum { DRV_WIDTH = 4 };
#endif
typedef float drv_floats __attribute__((vector_size(4 * DRV_WIDTH)));
typedef int32_t drv_ints __attribute__((vector_size(4 * DRV_WIDTH)));

static inline drv_floats drv_load(const float *from) {
    drv_floats values;
    memcpy(&values, from, sizeof values);
    return values;
}

static inline void drv_store(float *to, drv_floats values) { memcpy(to, &values, sizeof values); }

/* Compiles to one broadcast, where a loop compiles to one insert per element. Preserves -0. */
static inline drv_floats drv_splat(float value) { return value - (drv_floats){0}; }

static inline drv_floats drv_abs(drv_floats values) { return (drv_floats)((drv_ints)values & 0x7fffffff); }

/* Squared distances of DRV_WIDTH points to one point. */
static inline drv_floats drv_squared_distances(const float *x, const float *y, drv_floats to_x, drv_floats to_y) {
    const drv_floats dx = drv_load(x) - to_x, dy = drv_load(y) - to_y;
    return dx * dx + dy * dy;
}

/* (first, first + 1, .., first + DRV_WIDTH - 1). */
static inline drv_ints drv_iota(int32_t first) {
    static const int32_t indices[DRV_SIMD_PAD] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    drv_ints numbers;
    memcpy(&numbers, indices, sizeof numbers);
    return numbers + first;
}

/* -1 where values[i] <= limit, else 0. */
static inline drv_ints drv_mask_le(drv_floats values, drv_floats limit) {
#if defined(__AVX2__)
    return (drv_ints)_mm256_cmp_ps((__m256)limit, (__m256)values, _CMP_GE_OQ); /* gives a vector, not a mask register */
#else
    return (drv_ints)(values <= limit);
#endif
}

static inline int32_t drv_sum(drv_ints values) {
    int32_t sum = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) sum += values[i];
    return sum;
}

/* Returns how many of values[0 .. count) are <= limit. The padding up to the next multiple of DRV_SIMD_PAD is above
 * it. */
static inline int32_t drv_count_le(const float *values, int32_t count, float limit) {
    const drv_floats most = drv_splat(limit);
    drv_ints one = {0}, other = {0};
    for (int32_t i = 0; i < count; i += 2 * DRV_WIDTH) {
        one -= drv_mask_le(drv_load(values + i), most);
        other -= drv_mask_le(drv_load(values + i + DRV_WIDTH), most);
    }
    return drv_sum(one + other);
}

/* The same for two limits in one pass. */
static inline void drv_count_le_each(const float *values, int32_t count, float low, float high, int32_t *at_low,
                                     int32_t *at_high) {
    const drv_floats lower = drv_splat(low), higher = drv_splat(high);
    drv_ints below_low = {0}, below_high = {0};
    for (int32_t i = 0; i < count; i += DRV_WIDTH) {
        const drv_floats some = drv_load(values + i);
        below_low -= drv_mask_le(some, lower);
        below_high -= drv_mask_le(some, higher);
    }
    *at_low = drv_sum(below_low);
    *at_high = drv_sum(below_high);
}

/* Bit i: values[i] <= limit. */
static inline uint32_t drv_movemask_le(drv_floats values, float limit) {
#if defined(__AVX2__)
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_set1_ps(limit), (__m256)values, _CMP_GE_OQ));
#elif defined(__SSE2__)
    return (uint32_t)_mm_movemask_ps(_mm_cmple_ps((__m128)values, _mm_set1_ps(limit)));
#else
    uint32_t bits = 0;
    for (int i = 0; i < DRV_WIDTH; i++) bits |= (uint32_t)(values[i] <= limit) << i;
    return bits;
#endif
}

/* Stores the items whose bit is set, packed, and returns their number. Overwrites up to DRV_WIDTH entries of `to`. */
static inline int32_t drv_compress_store(void *to, drv_ints items, uint32_t bits) {
#if defined(__AVX2__)
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)&drv_compress_table[bits]);
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32((__m256i)items, _mm256_cvtepu8_epi32(bytes)));
    return __builtin_popcount(bits);
#else
    int32_t count = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) {
        const int32_t item = items[i];
        memcpy((uint8_t *)to + 4 * count, &item, sizeof item);
        count += (int32_t)(bits >> i & 1u);
    }
    return count;
#endif
}

/* Converts floats in [-1, 1] to IEEE half floats, rounded to nearest, ties to even. */
static inline void drv_store_halves(const float *from, int32_t count, uint16_t *to) {
    int32_t i = 0;
#if defined(__F16C__)
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(to + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#endif
    for (; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, sizeof bits);
        const uint32_t sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
        /* Below 2^-14 halves are multiples of 2^-24, the spacing of floats in [0.5, 1): adding 0.5 rounds. */
        float magnitude, shifted;
        memcpy(&magnitude, &size, sizeof magnitude);
        shifted = magnitude + 0.5f;
        uint32_t small;
        memcpy(&small, &shifted, sizeof small);
        const uint32_t large = (size + 0xfffu + (size >> 13 & 1u)) >> 13;
        to[i] = (uint16_t)(sign | (size < 0x38800000u ? small - 0x3f000000u : large - (112u << 10)));
    }
}

#endif
