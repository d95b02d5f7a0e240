/* Which random number does a world draw? A counter-based generator.
 *
 * A pure function of (seed, world, episode, purpose, index): there is no state to store, copy or share, so the numbers
 * of a world do not depend on the other worlds. */
#ifndef DRV_RANDOM_H
#define DRV_RANDOM_H

#include <stdint.h>

typedef enum drv_purpose {
    DRV_PURPOSE_SCENE = 1,
    DRV_PURPOSE_PATH = 2,
    DRV_PURPOSE_GOAL = 3,
    DRV_PURPOSE_WEIGHTS = 4,
    DRV_PURPOSE_LIGHTS = 5, /* the offset of the lights of a junction */
    DRV_PURPOSE_GOAL_REVEAL = 6,
    DRV_PURPOSE_COPLAYERS = 7,
    DRV_PURPOSE_BLINDNESS = 8, /* which agents can be blind, and when they are */
    DRV_PURPOSE_BRAKING = 9, /* likewise */
    DRV_PURPOSE_GOAL_NEXT = 10, /* at each fork, the lane of the next goal */
    DRV_PURPOSE_SCRIPTS = 11, /* the option of a group */
    DRV_PURPOSE_RESPAWN = 12, /* the order in which an agent takes starts */
    /* of the first hidden parameter; each further one has the next number, and the flip of the steering the last */
    DRV_PURPOSE_HIDDEN = 64,
    DRV_PURPOSE_SENSORS = 96 /* of the first stream of step/sensors.c; each further one has the next number */
} drv_purpose;

/* 2^64 / golden ratio, the increment of SplitMix64. It maps inputs of 0 away from 0, the fixed point of drv_mix. */
static const uint64_t drv_golden = 0x9e3779b97f4a7c15u;

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014): every input bit reaches every output bit. */
static inline uint64_t drv_mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

/* Returns 64 random bits. */
static inline uint64_t drv_random_bits(uint64_t seed, int64_t world_id, int64_t episode, drv_purpose purpose,
                                       uint32_t index) {
    uint64_t bits = drv_mix(seed + drv_golden);
    bits = drv_mix(bits + drv_golden * ((uint64_t)world_id + 1));
    bits = drv_mix(bits + drv_golden * ((uint64_t)episode + 1));
    return drv_mix(bits + drv_golden * ((((uint64_t)purpose) << 32) + index + 1));
}

/* Returns draw `index` of the stream that begins at `key`: 64 random bits, by SplitMix64. */
static inline uint64_t drv_random_draw(uint64_t key, uint32_t index) {
    return drv_mix(key + drv_golden * ((uint64_t)index + 1));
}

/* Returns an integer in 0 .. count - 1, by multiplication and shift; its bias of at most count / 2^32 is negligible. */
static inline uint32_t drv_random_below(uint64_t bits, uint32_t count) {
    return (uint32_t)(((bits >> 32) * count) >> 32);
}

/* Returns a number in [0, 1), a multiple of 2^-24. */
static inline float drv_random_share(uint64_t bits) { return (float)(bits >> 40) * 0x1p-24f; }

#endif
