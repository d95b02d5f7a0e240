/* Who has which worlds of a batch? One atomic word says it of all its parts, so no two calls ever share a world.
 *
 * A part has a number: 0 is the whole batch, 1 + i its part i. While a call is at it, its low bit is set; while a step
 * of it is in flight, with nobody in a call, its high bit is. */
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
/* Those of some bits that say a call. */
static inline uint64_t drv_ownership_call_bits(uint64_t bits) { return bits & (drv_ownership_call_bit(DRV_OWNERSHIP_HIGH) - 1); }
static inline uint64_t drv_ownership_flight_bit(int32_t number) { return drv_ownership_call_bit(number) << DRV_OWNERSHIP_HIGH; }

/* The bits of all with which a part shares a world, its own among them. */
static inline uint64_t drv_ownership_conflicts(const drv_ownership *ownership, int32_t number) {
    const uint64_t all = drv_ownership_call_bit(1 + ownership->part_count) - 1;
    const uint64_t calls = number == DRV_OWNERSHIP_WHOLE ? all : drv_ownership_call_bit(DRV_OWNERSHIP_WHOLE) | drv_ownership_call_bit(number);
    return calls | calls << DRV_OWNERSHIP_HIGH;
}

/* Takes a part's worlds where nobody has one of them. `found` says who has which. */
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

/* Leaves the call, the step in flight. */
static inline void drv_ownership_to_flight(drv_ownership *ownership, int32_t number) {
    atomic_fetch_xor_explicit(&ownership->taken, drv_ownership_flight_bit(number) | drv_ownership_call_bit(number), memory_order_release);
}

/* Comes back into a call to end the step in flight, if there is one. `found` says who has which worlds. */
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
