/* Where do a test's random values come from? A generator of its own (xorshift64*, Vigna 2016), so that a fault in the
 * core's cannot hide itself. */
#ifndef DICE_H
#define DICE_H

#include <stdint.h>

typedef struct dice {
    uint64_t state; /* never 0 */
} dice;

static inline uint64_t dice_bits(dice *die) {
    die->state ^= die->state >> 12;
    die->state ^= die->state << 25;
    die->state ^= die->state >> 27;
    return die->state * 0x2545f4914f6cdd1du;
}

static inline int32_t dice_below(dice *die, int32_t count) {
    return (int32_t)((dice_bits(die) >> 33) % (uint64_t)count);
}

static inline double dice_between(dice *die, double low, double high) {
    return low + (high - low) * (double)(dice_bits(die) >> 11) * 0x1p-53;
}

#endif
