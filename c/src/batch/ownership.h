/* Which calls hold which worlds of a batch? One atomic word for all parts, so that no two calls ever reach the same
 * world.
 *
 * A part has a number: 0 is the whole batch, 1 + i its part i. Bit `number` is set while a call is in the part, bit
 * DRV_OWNERSHIP_HIGH + `number` while a step of it is in flight, between step_async and wait. */
#ifndef DRV_OWNERSHIP_H
#define DRV_OWNERSHIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "drive.h"

typedef struct drv_ownership {
    _Atomic uint64_t taken;
    int32_t part_count;
} drv_ownership;

enum { DRV_OWNERSHIP_WHOLE = 0, DRV_OWNERSHIP_HIGH = 32 };

_Static_assert(1 + DRV_PART_LIMIT <= DRV_OWNERSHIP_HIGH, "every part has two bits");

static inline uint64_t drv_ownership_call_bit(int32_t number) { return (uint64_t)1 << number; }

static inline uint64_t drv_ownership_flight_bit(int32_t number) {
    return drv_ownership_call_bit(number) << DRV_OWNERSHIP_HIGH;
}

/* The bits of calls in a word. */
static inline uint64_t drv_ownership_call_bits(uint64_t bits) {
    return bits & (drv_ownership_call_bit(DRV_OWNERSHIP_HIGH) - 1);
}

/* The bits of all parts that share a world with this one, its own included. */
static inline uint64_t drv_ownership_conflicts(const drv_ownership *ownership, int32_t number) {
    const uint64_t all = drv_ownership_call_bit(1 + ownership->part_count) - 1;
    const uint64_t own = drv_ownership_call_bit(DRV_OWNERSHIP_WHOLE) | drv_ownership_call_bit(number);
    const uint64_t calls = number == DRV_OWNERSHIP_WHOLE ? all : own;
    return calls | calls << DRV_OWNERSHIP_HIGH;
}

/* Acquires the worlds of a part for a call, if no call or step holds one of them. Stores the word it found. */
static inline bool drv_ownership_acquire(drv_ownership *ownership, int32_t number, uint64_t *found) {
    *found = atomic_load_explicit(&ownership->taken, memory_order_relaxed);
    while (!(*found & drv_ownership_conflicts(ownership, number)))
        if (atomic_compare_exchange_weak_explicit(&ownership->taken, found, *found | drv_ownership_call_bit(number),
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

static inline void drv_ownership_release(drv_ownership *ownership, int32_t number) {
    atomic_fetch_and_explicit(&ownership->taken, ~drv_ownership_call_bit(number), memory_order_release);
}

/* Ends the call and leaves its step in flight. */
static inline void drv_ownership_to_flight(drv_ownership *ownership, int32_t number) {
    const uint64_t both = drv_ownership_flight_bit(number) | drv_ownership_call_bit(number);
    atomic_fetch_xor_explicit(&ownership->taken, both, memory_order_release);
}

/* Turns the step in flight back into a call, if there is one. Stores the word it found. */
static inline bool drv_ownership_from_flight(drv_ownership *ownership, int32_t number, uint64_t *found) {
    const uint64_t both = drv_ownership_flight_bit(number) | drv_ownership_call_bit(number);
    *found = atomic_load_explicit(&ownership->taken, memory_order_relaxed);
    while (*found & drv_ownership_flight_bit(number))
        if (atomic_compare_exchange_weak_explicit(&ownership->taken, found, *found ^ both, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

#endif
