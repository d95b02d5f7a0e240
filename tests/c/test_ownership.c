/* Do two calls ever own the same world? Every acquired mask is compared with a count per world. */
#include "batch/ownership.h"

#include "check.h"
#include "rng.h"

enum { PARTS = 5, TRIES = 20000, FREE = 0, IN_CALL = 1, IN_FLIGHT = 2 };

/* The state of each part (entry 0: the whole batch), and the number of owners of each world. World i is part 1 + i. */
typedef struct expected_owners {
    int32_t state[1 + PARTS];
    int32_t owners[PARTS];
} expected_owners;

static void hold(expected_owners *expected, int32_t number, int32_t change) {
    for (int32_t world = 0; world < PARTS; world++)
        if (number == 0 || number == 1 + world) expected->owners[world] += change;
}

static int is_free(const expected_owners *expected, int32_t number) {
    for (int32_t world = 0; world < PARTS; world++)
        if ((number == 0 || number == 1 + world) && expected->owners[world] > 0) return 0;
    return 1;
}

TEST(a_world_has_one_owner_at_a_time) {
    drv_ownership ownership = {.part_count = PARTS};
    expected_owners expected = {0};
    test_rng rng = {81};
    atomic_init(&ownership.taken, 0);
    int32_t acquired = 0, refused = 0, resumed = 0;
    for (int32_t i = 0; i < TRIES; i++) {
        const int32_t number = rng_below(&rng, 1 + PARTS);
        const int32_t state = expected.state[number];
        uint64_t found;
        /* A call in progress ends, or leaves a step in flight. */
        if (state == IN_CALL) {
            expected.state[number] = rng_below(&rng, 2) ? FREE : IN_FLIGHT;
            if (expected.state[number] == IN_FLIGHT) {
                drv_ownership_to_flight(&ownership, number);
                continue;
            }
            hold(&expected, number, -1);
            drv_ownership_release(&ownership, number);
            continue;
        }
        /* A call begins where all its worlds are free. */
        const int wanted = is_free(&expected, number);
        CHECK(drv_ownership_acquire(&ownership, number, &found) == wanted, "part %d in state %d", number, state);
        acquired += wanted;
        refused += !wanted;
        if (wanted) {
            hold(&expected, number, 1);
            expected.state[number] = IN_CALL;
            continue;
        }
        /* One that cannot begin may resume its own step in flight. */
        CHECK(drv_ownership_from_flight(&ownership, number, &found) == (state == IN_FLIGHT),
              "part %d in state %d", number, state);
        if (state == IN_FLIGHT) expected.state[number] = IN_CALL;
        resumed += state == IN_FLIGHT;
    }
    CHECK(acquired > 1000 && refused > 1000 && resumed > 1000, "%d acquired, %d refused, %d resumed", acquired, refused,
          resumed);
}

TEST(a_failed_acquire_returns_the_bits_that_conflict) {
    drv_ownership ownership = {.part_count = PARTS};
    uint64_t found;
    atomic_init(&ownership.taken, 0);
    drv_ownership_acquire(&ownership, 2, &found);
    drv_ownership_to_flight(&ownership, 2);
    drv_ownership_acquire(&ownership, 4, &found);
    CHECK(!drv_ownership_acquire(&ownership, DRV_OWNERSHIP_WHOLE, &found), "the whole batch was acquired");
    CHECK(found == (drv_ownership_flight_bit(2) | drv_ownership_call_bit(4)), "%llx", (unsigned long long)found);
    CHECK(!drv_ownership_from_flight(&ownership, 4, &found), "a call was resumed");
    CHECK(drv_ownership_acquire(&ownership, 5, &found), "%llx", (unsigned long long)found);
}
