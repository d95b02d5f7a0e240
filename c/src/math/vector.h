/* Which SIMD operations does the step use? Each is implemented for AVX2, for SSE2 and without either, with the same
 * bits.
 *
 * AVX-512 uses the implementation of AVX2: registers of 64 bytes, and the mask registers and compressed stores of
 * AVX-512 on 32 bytes, were slower (docs/performance.md). Arrays are read one or two vectors at a time, so callers pad
 * them (math/simd_pad.h). */
#ifndef DRV_VECTOR_H
#define DRV_VECTOR_H

#include <stdint.h>
#include <string.h>

#include "math/simd_pad.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#if defined(__AVX2__) && defined(__F16C__)
#define DRV_USES_AVX2
#include "math/compress_table.h"
#endif

/* The SIMD width in elements. */
#if defined(DRV_USES_AVX2)
enum { DRV_WIDTH = 8 };
#else
enum { DRV_WIDTH = 4 };
#endif
typedef float drv_floats __attribute__((vector_size(4 * DRV_WIDTH)));
typedef int32_t drv_ints __attribute__((vector_size(4 * DRV_WIDTH)));

/* ---- any instruction set: compilers select the instructions ---- */

static inline drv_floats drv_load(const float *from) {
    drv_floats values;
    memcpy(&values, from, sizeof values);
    return values;
}

static inline void drv_store(float *to, drv_floats values) { memcpy(to, &values, sizeof values); }

/* Compiles to one broadcast, where a loop compiles to one insert per element. Preserves -0. */
static inline drv_floats drv_splat(float value) { return value - (drv_floats){0}; }

static inline drv_floats drv_abs(drv_floats values) { return (drv_floats)((drv_ints)values & 0x7fffffff); }

/* Rounds towards 0. Every value must be in the range of int32_t. */
static inline drv_ints drv_truncate(drv_floats values) { return __builtin_convertvector(values, drv_ints); }

static inline drv_floats drv_from_ints(drv_ints values) { return __builtin_convertvector(values, drv_floats); }

/* (first, first + 1, .., first + DRV_WIDTH - 1). */
static inline drv_ints drv_iota(int32_t first) {
    static const int32_t indices[DRV_SIMD_PAD] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    drv_ints numbers;
    memcpy(&numbers, indices, sizeof numbers);
    return numbers + first;
}

static inline int32_t drv_sum(drv_ints values) {
    int32_t sum = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) sum += values[i];
    return sum;
}

/* Squared distances of DRV_WIDTH points to one point. */
static inline drv_floats drv_squared_distances(const float *x, const float *y, drv_floats to_x, drv_floats to_y) {
    const drv_floats dx = drv_load(x) - to_x, dy = drv_load(y) - to_y;
    return dx * dx + dy * dy;
}

/* Converts a float in [-1, 1] to an IEEE half float, rounded to nearest, ties to even. */
static inline uint16_t drv_float_to_half(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000u, magnitude_bits = bits & 0x7fffffffu;
    /* Below 2^-14 halves are multiples of 2^-24, the spacing of floats in [0.5, 1): adding 0.5 rounds. */
    float magnitude, shifted;
    memcpy(&magnitude, &magnitude_bits, sizeof magnitude);
    shifted = magnitude + 0.5f;
    uint32_t small;
    memcpy(&small, &shifted, sizeof small);
    /* From there on, rounds the significand to 10 bits; the biases of the exponents differ by 112. */
    const uint32_t large = (magnitude_bits + 0xfffu + (magnitude_bits >> 13 & 1u)) >> 13;
    return (uint16_t)(sign | (magnitude_bits < 0x38800000u ? small - 0x3f000000u : large - (112u << 10)));
}

/* ---- by instruction set ----
 *
 * drv_mask_le         -1 where values[i] <= limit[i], else 0
 * drv_min, drv_max    the smaller and the larger of each pair of elements; where they are equal, that of b
 * drv_movemask        bit i: mask[i] is -1, of a mask of which every element is -1 or 0
 * drv_movemask_le     bit i: values[i] <= limit
 * drv_compress_store  stores the items whose bit is set, packed, and returns their number; overwrites up to DRV_WIDTH
 *                     entries of `to`
 * drv_swap_pairs      (b, a, d, c, ..) of (a, b, c, d, ..)
 * drv_clip_unit       clips finite values to [-1, 1]
 * drv_store_halves    stores values in [-1, 1] as half floats, see drv_float_to_half */

/* ---- AVX2 ---- */
#if defined(DRV_USES_AVX2)

/* Compares to a vector; with AVX-512 the operator <= would compare to a mask register. */
static inline drv_ints drv_mask_le(drv_floats values, drv_floats limit) {
    return (drv_ints)_mm256_cmp_ps((__m256)limit, (__m256)values, _CMP_GE_OQ);
}

static inline drv_floats drv_min(drv_floats a, drv_floats b) { return (drv_floats)_mm256_min_ps((__m256)a, (__m256)b); }
static inline drv_floats drv_max(drv_floats a, drv_floats b) { return (drv_floats)_mm256_max_ps((__m256)a, (__m256)b); }

static inline uint32_t drv_movemask(drv_ints mask) { return (uint32_t)_mm256_movemask_ps((__m256)mask); }

static inline uint32_t drv_movemask_le(drv_floats values, float limit) {
    return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_set1_ps(limit), (__m256)values, _CMP_GE_OQ));
}

static inline int32_t drv_compress_store(void *to, drv_ints items, uint32_t bits) {
    const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)&drv_compress_table[bits]);
    _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32((__m256i)items, _mm256_cvtepu8_epi32(bytes)));
    return __builtin_popcount(bits);
}

static inline drv_floats drv_swap_pairs(drv_floats values) {
    return (drv_floats)_mm256_permute_ps((__m256)values, 0xb1);
}

static inline drv_floats drv_clip_unit(drv_floats values) {
    const __m256 one = _mm256_set1_ps(1.0f);
    return (drv_floats)_mm256_max_ps(_mm256_min_ps((__m256)values, one), _mm256_sub_ps(_mm256_setzero_ps(), one));
}

static inline void drv_store_halves(uint16_t *to, drv_floats values) {
    _mm_storeu_si128((__m128i *)(void *)to,
                     _mm256_cvtps_ph((__m256)values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

/* ---- SSE2 and portable ---- */
#else

static inline drv_ints drv_mask_le(drv_floats values, drv_floats limit) { return (drv_ints)(values <= limit); }

static inline int32_t drv_compress_store(void *to, drv_ints items, uint32_t bits) {
    int32_t count = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) {
        const int32_t item = items[i];
        memcpy((uint8_t *)to + 4 * count, &item, sizeof item);
        count += (int32_t)(bits >> i & 1u);
    }
    return count;
}

static inline void drv_store_halves(uint16_t *to, drv_floats values) {
    for (int32_t i = 0; i < DRV_WIDTH; i++) to[i] = drv_float_to_half(values[i]);
}

/* ---- SSE2 ---- */
#if defined(__SSE2__)

static inline drv_floats drv_min(drv_floats a, drv_floats b) { return (drv_floats)_mm_min_ps((__m128)a, (__m128)b); }
static inline drv_floats drv_max(drv_floats a, drv_floats b) { return (drv_floats)_mm_max_ps((__m128)a, (__m128)b); }

static inline uint32_t drv_movemask(drv_ints mask) { return (uint32_t)_mm_movemask_ps((__m128)mask); }

static inline uint32_t drv_movemask_le(drv_floats values, float limit) {
    return (uint32_t)_mm_movemask_ps(_mm_cmple_ps((__m128)values, _mm_set1_ps(limit)));
}

static inline drv_floats drv_swap_pairs(drv_floats values) {
    return (drv_floats)_mm_shuffle_ps((__m128)values, (__m128)values, 0xb1);
}

static inline drv_floats drv_clip_unit(drv_floats values) {
    const __m128 one = _mm_set1_ps(1.0f);
    return (drv_floats)_mm_max_ps(_mm_min_ps((__m128)values, one), _mm_sub_ps(_mm_setzero_ps(), one));
}

/* ---- portable ---- */
#else

static inline drv_floats drv_min(drv_floats a, drv_floats b) {
    const drv_ints less = a < b;
    return (drv_floats)((less & (drv_ints)a) | (~less & (drv_ints)b));
}

static inline drv_floats drv_max(drv_floats a, drv_floats b) {
    const drv_ints greater = a > b;
    return (drv_floats)((greater & (drv_ints)a) | (~greater & (drv_ints)b));
}

static inline uint32_t drv_movemask(drv_ints mask) {
    uint32_t bits = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) bits |= ((uint32_t)mask[i] & 1u) << i;
    return bits;
}

static inline uint32_t drv_movemask_le(drv_floats values, float limit) {
    uint32_t bits = 0;
    for (int32_t i = 0; i < DRV_WIDTH; i++) bits |= (uint32_t)(values[i] <= limit) << i;
    return bits;
}

static inline drv_floats drv_swap_pairs(drv_floats values) {
#if defined(__clang__)
    return __builtin_shufflevector(values, values, 1, 0, 3, 2);
#else
    return __builtin_shuffle(values, (drv_ints){1, 0, 3, 2});
#endif
}

static inline drv_floats drv_clip_unit(drv_floats values) {
    const drv_floats one = drv_splat(1.0f);
    const drv_ints above = values > one, below = values < -one;
    values = (drv_floats)((above & (drv_ints)one) | (~above & (drv_ints)values));
    return (drv_floats)((below & (drv_ints)-one) | (~below & (drv_ints)values));
}

#endif
#endif

#endif
