/* Which permutation moves the selected elements of a vector to its front? The table of drv_compress_store: AVX2 has a
 * permutation of eight elements, but no compression. */
#ifndef DRV_COMPRESS_TABLE_H
#define DRV_COMPRESS_TABLE_H

#include <stdint.h>

/* Entry m of the table holds the indices of the set bits of m, ascending, one per byte, then zeros. It is the entry of
 * the lower four bits followed by that of the upper four.
 *
 * LOW_n: the indices of the set bits of n. */
#define LOW_0 0x0u
#define LOW_1 0x0u
#define LOW_2 0x1u
#define LOW_3 0x0100u
#define LOW_4 0x2u
#define LOW_5 0x0200u
#define LOW_6 0x0201u
#define LOW_7 0x020100u
#define LOW_8 0x3u
#define LOW_9 0x0300u
#define LOW_A 0x0301u
#define LOW_B 0x030100u
#define LOW_C 0x0302u
#define LOW_D 0x030200u
#define LOW_E 0x030201u
#define LOW_F 0x03020100u
/* HIGH_n: the same, plus four in every byte. */
#define HIGH_0 0x0ull
#define HIGH_1 0x4ull
#define HIGH_2 0x5ull
#define HIGH_3 0x0504ull
#define HIGH_4 0x6ull
#define HIGH_5 0x0604ull
#define HIGH_6 0x0605ull
#define HIGH_7 0x060504ull
#define HIGH_8 0x7ull
#define HIGH_9 0x0704ull
#define HIGH_A 0x0705ull
#define HIGH_B 0x070504ull
#define HIGH_C 0x0706ull
#define HIGH_D 0x070604ull
#define HIGH_E 0x070605ull
#define HIGH_F 0x07060504ull
#define SIXTEEN(high)                                                                                                  \
    LOW_0 | high, LOW_1 | high << 8, LOW_2 | high << 8, LOW_3 | high << 16, LOW_4 | high << 8, LOW_5 | high << 16,     \
        LOW_6 | high << 16, LOW_7 | high << 24, LOW_8 | high << 8, LOW_9 | high << 16, LOW_A | high << 16,             \
        LOW_B | high << 24, LOW_C | high << 16, LOW_D | high << 24, LOW_E | high << 24, LOW_F | high << 32

static const uint64_t drv_compress_table[256] = {
    SIXTEEN(HIGH_0), SIXTEEN(HIGH_1), SIXTEEN(HIGH_2), SIXTEEN(HIGH_3), SIXTEEN(HIGH_4), SIXTEEN(HIGH_5),
    SIXTEEN(HIGH_6), SIXTEEN(HIGH_7), SIXTEEN(HIGH_8), SIXTEEN(HIGH_9), SIXTEEN(HIGH_A), SIXTEEN(HIGH_B),
    SIXTEEN(HIGH_C), SIXTEEN(HIGH_D), SIXTEEN(HIGH_E), SIXTEEN(HIGH_F)};

#endif
