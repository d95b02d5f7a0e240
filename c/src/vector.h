/* Many floats at once, for the instruction set this is compiled for; every form gives the same bits.
 *
 * Arrays are read by sixteens, so callers keep DRV_LANES entries of room behind the last one. */
#ifndef DRV_VECTOR_H
#define DRV_VECTOR_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

enum { DRV_LANES = 16 };

/* ---- four floats ---- */

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

/* Clipped to [-1, 1]; the values are finite. */
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

/* ---- arrays ---- */

/* Bit i: values[i] <= limit, for sixteen values. */
static inline uint32_t drv_at_most16(const float *values, float limit) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(values), _mm512_set1_ps(limit), _CMP_LE_OQ);
#elif defined(__AVX2__)
    const __m256 most = _mm256_set1_ps(limit);
    const uint32_t low = (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(values), most, _CMP_LE_OQ));
    const uint32_t high = (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(values + 8), most, _CMP_LE_OQ));
    return low | high << 8;
#elif defined(__SSE2__)
    const __m128 most = _mm_set1_ps(limit);
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++)
        bits |= (uint32_t)_mm_movemask_ps(_mm_cmple_ps(_mm_loadu_ps(values + 4 * i), most)) << (4 * i);
    return bits;
#else
    uint32_t bits = 0;
    for (int i = 0; i < DRV_LANES; i++) bits |= (uint32_t)(values[i] <= limit) << i;
    return bits;
#endif
}

/* Of the sixteen values from `first` on, those whose bit is set, by their index: appended to `kept`, of which sixteen
 * entries may be written. Returns how many. */
static inline int32_t drv_append16(int32_t *kept, uint32_t bits, int32_t first) {
#if defined(__AVX512F__)
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i index = _mm512_add_epi32(lanes, _mm512_set1_epi32(first));
    /* The register form and a whole store: the memory form is slow where it is microcoded. */
    _mm512_storeu_si512(kept, _mm512_maskz_compress_epi32((__mmask16)bits, index));
    return __builtin_popcount(bits);
#elif defined(__AVX2__) && defined(__BMI2__)
    int32_t count = 0;
    for (int half = 0; half < 2; half++) {
        const uint64_t eight = bits >> (8 * half) & 0xffu;
        /* Each set bit becomes a byte of ones, which then picks its lane's number. */
        const uint64_t bytes = _pext_u64(0x0706050403020100u, _pdep_u64(eight, 0x0101010101010101u) * 0xffu);
        const __m256i lanes = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)bytes));
        _mm256_storeu_si256((__m256i *)(void *)(kept + count), _mm256_add_epi32(lanes, _mm256_set1_epi32(first + 8 * half)));
        count += __builtin_popcountll(eight);
    }
    return count;
#else
    int32_t count = 0;
    for (int32_t i = 0; i < DRV_LANES; i++) {
        kept[count] = first + i;
        count += (int32_t)(bits >> i & 1u);
    }
    return count;
#endif
}

#endif
