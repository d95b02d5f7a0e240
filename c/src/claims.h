/* Who has which worlds of a batch? One atomic word says it of all its parts, so no two calls ever share a world.
 *
 * A part has a number: 0 is the whole batch, 1 + i its part i. While a call is at it, its low bit is set; while a step
 * of it is in flight, with nobody in a call, its high bit is. */
#ifndef DRV_CLAIMS_H
#define DRV_CLAIMS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "drive.h"

typedef struct drv_claims {
    _Atomic uint64_t taken;
    int32_t part_count;
} drv_claims;

enum { DRV_CLAIM_WHOLE = 0, DRV_CLAIM_HIGH = 32 };

_Static_assert(1 + DRV_PART_LIMIT <= DRV_CLAIM_HIGH, "every part has two bits");

static inline uint64_t drv_claim_call(int32_t number) { return (uint64_t)1 << number; }
/* Those of some bits that say a call. */
static inline uint64_t drv_claim_calls(uint64_t bits) { return bits & (drv_claim_call(DRV_CLAIM_HIGH) - 1); }
static inline uint64_t drv_claim_flight(int32_t number) { return drv_claim_call(number) << DRV_CLAIM_HIGH; }

/* The bits of all with which a part shares a world, its own among them. */
static inline uint64_t drv_claim_rivals(const drv_claims *claims, int32_t number) {
    const uint64_t all = drv_claim_call(1 + claims->part_count) - 1;
    const uint64_t calls = number == DRV_CLAIM_WHOLE ? all : drv_claim_call(DRV_CLAIM_WHOLE) | drv_claim_call(number);
    return calls | calls << DRV_CLAIM_HIGH;
}

/* Takes a part's worlds where nobody has one of them. `found` says who has which. */
static inline bool drv_claim_take(drv_claims *claims, int32_t number, uint64_t *found) {
    *found = atomic_load_explicit(&claims->taken, memory_order_relaxed);
    while (!(*found & drv_claim_rivals(claims, number)))
        if (atomic_compare_exchange_weak_explicit(&claims->taken, found, *found | drv_claim_call(number),
                                                  memory_order_acquire, memory_order_relaxed))
            return true;
    return false;
}

static inline void drv_claim_give(drv_claims *claims, int32_t number) {
    atomic_fetch_and_explicit(&claims->taken, ~drv_claim_call(number), memory_order_release);
}

/* Leaves the call, the step in flight. */
static inline void drv_claim_let_fly(drv_claims *claims, int32_t number) {
    atomic_fetch_xor_explicit(&claims->taken, drv_claim_flight(number) | drv_claim_call(number), memory_order_release);
}

/* Comes back into a call to end the step in flight, if there is one. `found` says who has which worlds. */
static inline bool drv_claim_take_up(drv_claims *claims, int32_t number, uint64_t *found) {
    const uint64_t both = drv_claim_flight(number) | drv_claim_call(number);
    *found = atomic_load_explicit(&claims->taken, memory_order_relaxed);
    while (*found & drv_claim_flight(number))
        if (atomic_compare_exchange_weak_explicit(&claims->taken, found, *found ^ both, memory_order_acquire,
                                                  memory_order_relaxed))
            return true;
    return false;
}

#endif
