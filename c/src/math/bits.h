/* Which bits of a word are set? */
#ifndef DRV_BITS_H
#define DRV_BITS_H

#include <stdint.h>

/* The index of the lowest set bit of a word other than 0. */
static inline int32_t drv_lowest_bit(uint64_t bits) { return __builtin_ctzll(bits); }

/* The index of the highest set bit of a word other than 0. */
static inline int32_t drv_highest_bit(uint64_t bits) { return 63 - __builtin_clzll(bits); }

#endif
