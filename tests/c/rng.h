/* Where do a test's random values come from? A generator of its own (xorshift64*, Vigna 2016), so that a fault in the
 * core's cannot hide itself. */
#ifndef RNG_H
#define RNG_H

#include <stdint.h>

typedef struct test_rng {
    uint64_t state; /* never 0 */
} test_rng;

static inline uint64_t rng_bits(test_rng *rng) {
    rng->state ^= rng->state >> 12;
    rng->state ^= rng->state << 25;
    rng->state ^= rng->state >> 27;
    return rng->state * 0x2545f4914f6cdd1du;
}

static inline int32_t rng_below(test_rng *rng, int32_t count) {
    return (int32_t)((rng_bits(rng) >> 33) % (uint64_t)count);
}

static inline double rng_between(test_rng *rng, double low, double high) {
    return low + (high - low) * (double)(rng_bits(rng) >> 11) * 0x1p-53;
}

#endif
